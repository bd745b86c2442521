"""Matchmaking: the queue, the tables that come out of it, and ratings."""

from __future__ import annotations

from typing import Final

from monitoring.panels import Dashboard, Panel, Query, Row, percentiles, quantile, rate

MATCHMAKING_DASHBOARD: Final = Dashboard(
    uid="rami-matchmaking",
    title="Rami / Matchmaking",
    about="From ticket to table, and from finished match to rating.",
    rows=(
        Row(
            "Queue",
            (
                Panel(
                    "Live tickets",
                    (
                        Query('max(rami_matchmaking_live_tickets{state="forming"})', "forming"),
                        Query('max(rami_matchmaking_live_tickets{state="waiting"})', "waiting"),
                        Query('sum(rami_matchmaking_live_tickets{state="claimed"})', "claimed"),
                    ),
                ),
                Panel("Tickets", (Query(rate("rami_matchmaking_tickets_total", "event"), "{{event}}"),), "ops"),
                Panel(
                    "Wait for a table, p95",
                    (Query(quantile(0.95, "rami_matchmaking_wait_seconds", "outcome"), "{{outcome}}"),),
                    "s",
                    about="By what became of the ticket: a table of people, one with bots, cancelled, expired.",
                ),
                Panel(
                    "Wait for a table, p95 over 10 min",
                    (Query("rami:match_wait_seconds:p95_10m", "all tables"),),
                    "s",
                    bad_from=60,
                ),
                Panel("Watchers of tickets", (Query("sum(rami_matchmaking_watchers)", "watchers"),)),
                Panel("Guests signed in", (Query(rate("rami_matchmaking_guests_total"), "guests"),), "ops"),
            ),
        ),
        Row(
            "Tables",
            (
                Panel(
                    "Tables by outcome",
                    (Query(rate("rami_matchmaking_matches_total", "outcome"), "{{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "How even the tables are",
                    (Query(quantile(0.5, "rami_matchmaking_match_quality_ratio"), "median"),),
                    "percentunit",
                ),
                Panel("Rating points between best and weakest", percentiles("rami_matchmaking_match_spread_points")),
                Panel("Time of a pass over the queue", percentiles("rami_matchmaking_pass_seconds"), "s"),
                Panel(
                    "Passes that failed",
                    (Query(rate("rami_matchmaking_passes_failed_total", "cause"), "{{cause}}"),),
                    "ops",
                ),
                Panel(
                    "Claims taken over from others",
                    (Query(rate("rami_matchmaking_claims_resumed_total"), "claims"),),
                    "ops",
                ),
            ),
        ),
        Row(
            "Ratings",
            (
                Panel(
                    "Finished matches",
                    (Query(rate("rami_matchmaking_rating_updates_total", "outcome"), "{{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Unreadable records",
                    (Query(rate("rami_matchmaking_unreadable_records_total", "kind"), "{{kind}}"),),
                    "ops",
                    bad_from=0.001,
                ),
            ),
        ),
    ),
)
