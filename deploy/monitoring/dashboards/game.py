"""The game service: actions, commits, rooms, clocks, watchers."""

from __future__ import annotations

from typing import Final

from monitoring.panels import Dashboard, Panel, Query, Row, percentiles, quantile, rate

GAME_DASHBOARD: Final = Dashboard(
    uid="rami-game",
    title="Rami / Game state",
    about="Rooms: what is played in them, what is stored of them, and who watches.",
    rows=(
        Row(
            "Actions",
            (
                Panel(
                    "Accepted actions",
                    (Query(rate('rami_game_actions_total{outcome="ok"}', "kind"), "{{kind}}"),),
                    "ops",
                ),
                Panel(
                    "Refused actions of people",
                    (
                        Query(
                            rate('rami_game_actions_total{actor="player", outcome!~"ok|repeat"}', "outcome"),
                            "{{outcome}}",
                        ),
                    ),
                    "ops",
                ),
                Panel("Time of people's actions", percentiles("rami_game_action_seconds"), "s"),
                Panel(
                    "Time of turns, median",
                    (Query(quantile(0.5, "rami_game_turn_seconds", "actor"), "{{actor}}"),),
                    "s",
                ),
                Panel(
                    "Turns played for people who were away",
                    (Query(rate("rami_game_autopilot_turns_total"), "turns"),),
                    "ops",
                ),
                Panel("Matches ended", (Query(rate("rami_game_matches_total", "reason"), "{{reason}}"),), "ops"),
            ),
        ),
        Row(
            "Commits",
            (
                Panel("Commits", (Query(rate("rami_game_commits_total", "kind"), "{{kind}}"),), "ops"),
                Panel(
                    "Share of commits that came second",
                    (Query("rami:commit_conflicts:ratio_rate5m", "conflicts"),),
                    "percentunit",
                    bad_from=0.1,
                ),
                Panel(
                    "Rooms found in memory",
                    (
                        Query(
                            f'{rate("""rami_game_room_cache_total{outcome="hit"}""")}'
                            f' / {rate("""rami_game_room_cache_total{outcome=~"hit|miss"}""")}',
                            "share",
                        ),
                    ),
                    "percentunit",
                ),
                Panel("Rooms in memory", (Query("sum by (state) (rami_game_rooms)", "{{state}}"),)),
                Panel(
                    "Rooms dropped from a full memory",
                    (Query(rate('rami_game_room_cache_total{outcome="evicted"}'), "rooms"),),
                    "ops",
                ),
            ),
        ),
        Row(
            "Clocks and bots",
            (
                Panel("How late what is due happens", percentiles("rami_game_due_delay_seconds"), "s"),
                Panel(
                    "Rooms that could not be moved on",
                    (Query(rate("rami_game_drives_failed_total", "cause"), "{{cause}}"),),
                    "ops",
                ),
                Panel(
                    "Stuck rooms",
                    (Query("sum by (instance) (rami_game_stuck_rooms)", "{{instance}}"),),
                    bad_from=1,
                ),
                Panel(
                    "Decisions by outcome",
                    (Query(rate("rami_game_bot_decisions_total", "outcome"), "{{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Time of decisions, p99",
                    (Query(quantile(0.99, "rami_game_bot_decision_seconds", "level"), "{{level}}"),),
                    "s",
                ),
                Panel("Fallbacks by cause", (Query(rate("rami_game_fallbacks_total", "cause"), "{{cause}}"),), "ops"),
            ),
        ),
        Row(
            "Archive",
            (
                Panel(
                    "Finished matches",
                    (Query(rate("rami_game_archived_matches_total", "outcome"), "{{outcome}}"),),
                    "ops",
                ),
                Panel("From the end of a match to the archive", percentiles("rami_game_archive_delay_seconds"), "s"),
            ),
        ),
        Row(
            "Watching",
            (
                Panel("Watchers", (Query("sum by (viewer) (rami_game_watchers)", "{{viewer}}"),)),
                Panel("From commit to stream", percentiles("rami_game_event_delivery_seconds"), "s"),
                Panel(
                    "Slow watchers set back to a snapshot",
                    (Query(rate("rami_game_watcher_drops_total"), "watchers"),),
                    "ops",
                ),
            ),
        ),
    ),
)
