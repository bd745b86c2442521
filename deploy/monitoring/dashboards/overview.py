"""Is all well? The promises to players, traffic, errors, and who is there."""

from __future__ import annotations

from typing import Final

from monitoring.objectives import ACTION_ERRORS, ACTION_LATENCY, BOT_TURNS, JOBS, NO_STREAMS, SERVER_FAULTS
from monitoring.panels import Dashboard, Panel, Query, Row, quantile, rate

OVERVIEW_DASHBOARD: Final = Dashboard(
    uid="rami-overview",
    title="Rami / Overview",
    about="Begin here. Red numbers have an alert, and every alert an entry in the runbook.",
    rows=(
        Row(
            "Promises",
            (
                Panel(
                    "Actions failed (1 h)",
                    (Query(f"{ACTION_ERRORS.series}1h"),),
                    "percentunit",
                    width=6,
                    stat=True,
                    bad_from=1 - ACTION_ERRORS.target,
                ),
                Panel(
                    "Actions slow (1 h)",
                    (Query(f"{ACTION_LATENCY.series}1h"),),
                    "percentunit",
                    width=6,
                    stat=True,
                    bad_from=1 - ACTION_LATENCY.target,
                ),
                Panel(
                    "Bot decisions slow or missing (1 h)",
                    (Query(f"{BOT_TURNS.series}1h"),),
                    "percentunit",
                    width=6,
                    stat=True,
                    bad_from=1 - BOT_TURNS.target,
                ),
                Panel(
                    "Stuck rooms",
                    (Query("sum(rami_game_stuck_rooms)"),),
                    width=6,
                    stat=True,
                    bad_from=1,
                ),
            ),
        ),
        Row(
            "Play",
            (
                Panel(
                    "Actions by who chose them", (Query(rate("rami_game_actions_total", "actor"), "{{actor}}"),), "ops"
                ),
                Panel(
                    "Rooms in memory",
                    (Query("sum by (state) (rami_game_rooms)", "{{state}}"),),
                ),
                Panel("Watchers", (Query("sum by (viewer) (rami_game_watchers)", "{{viewer}}"),)),
                Panel(
                    "Players in the queue", (Query('max(rami_matchmaking_live_tickets{state="waiting"})', "waiting"),)
                ),
                Panel(
                    "Matches begun and ended",
                    (
                        Query(rate("rami_matchmaking_matches_total", "outcome"), "matched: {{outcome}}"),
                        Query(rate("rami_game_matches_total", "reason"), "ended: {{reason}}"),
                    ),
                    "ops",
                ),
                Panel(
                    "Longest wait of a decision for a worker",
                    (Query("rami:ai_queue_age_seconds:max", "oldest"),),
                    "s",
                ),
            ),
        ),
        Row(
            "Calls",
            (
                Panel("Calls by service", (Query(rate("rami_grpc_started_total", "job"), "{{job}}"),), "reqps"),
                Panel(
                    "Failed calls, streams apart",
                    (
                        Query(
                            rate(f"rami_grpc_handled_total{{{NO_STREAMS}, {SERVER_FAULTS}}}", "job, code"),
                            "{{job}} {{code}}",
                        ),
                    ),
                    "reqps",
                ),
                Panel(
                    "Calls refused by limits", (Query(rate("rami_grpc_limited_total", "limit"), "{{limit}}"),), "reqps"
                ),
                Panel(
                    "Time of calls, p99",
                    (Query(quantile(0.99, "rami_grpc_seconds", "job", NO_STREAMS), "{{job}}"),),
                    "s",
                ),
            ),
        ),
        Row(
            "Processes",
            (
                Panel("Reachable", (Query(f"sum by (job) (up{{{JOBS}}})", "{{job}}"),)),
                Panel("Ready", (Query("sum by (job) (rami_app_ready_info)", "{{job}}"),)),
                Panel(
                    "Versions", (Query("count by (service, version) (rami_app_build_info)", "{{service}} {{version}}"),)
                ),
            ),
        ),
    ),
)
