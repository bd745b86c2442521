"""What the game service writes: rooms, actions, bots, clocks, watchers, the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_kit.instruments import ReadGauge, counter, gauge, histogram
from rami_kit.metrics.buckets import ACTION_SECONDS, DECISION_SECONDS, DELIVERY_SECONDS, TURN_SECONDS, WAIT_SECONDS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class GameMetrics:
    """Rooms, actions and watchers; written by the game service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.rooms = gauge(registry, "rami_game_rooms", "Rooms in the memory of this replica by state.", "state")
        self.actions = counter(
            registry,
            "rami_game_actions_total",
            "Actions by kind, who chose them and outcome.",
            "kind",
            "actor",
            "outcome",
        )
        self.action_seconds = histogram(
            registry,
            "rami_game_action_seconds",
            "Time from receiving a person's action to its commit, accepted actions only.",
            buckets=ACTION_SECONDS,
        )
        self.turn_seconds = histogram(
            registry,
            "rami_game_turn_seconds",
            "Time a seat took for its turn.",
            "actor",
            buckets=TURN_SECONDS,
        )
        self.commit_conflicts = counter(
            registry, "rami_game_commit_conflicts_total", "Commits refused because another came first."
        )
        self.commits = counter(registry, "rami_game_commits_total", "Committed steps by kind.", "kind")
        self.watchers = gauge(registry, "rami_game_watchers", "Open watches by kind of viewer.", "viewer")
        self.delivery_seconds = histogram(
            registry,
            "rami_game_event_delivery_seconds",
            "Time from the commit of an event to its hand-over to a watcher's stream.",
            buckets=DELIVERY_SECONDS,
        )
        self.watcher_drops = counter(
            registry, "rami_game_watcher_drops_total", "Queues of slow watchers replaced by a snapshot."
        )
        self.bot_decisions = counter(
            registry,
            "rami_game_bot_decisions_total",
            "Decisions asked for bots by level and outcome.",
            "level",
            "outcome",
        )
        self.bot_seconds = histogram(
            registry,
            "rami_game_bot_decision_seconds",
            "Time from asking the AI service to its answer.",
            "level",
            buckets=DECISION_SECONDS,
        )
        self.fallbacks = counter(
            registry,
            "rami_game_fallbacks_total",
            "Turns played without a usable decision, by cause.",
            "cause",
        )
        self.autopilot_turns = counter(
            registry, "rami_game_autopilot_turns_total", "Turns played for people who did not act in time."
        )
        self.matches = counter(registry, "rami_game_matches_total", "Matches that ended, by reason.", "reason")
        self.drives_failed = counter(
            registry,
            "rami_game_drives_failed_total",
            "Times that a room could not be moved on and was left to the sweeper, by cause: store, defect.",
            "cause",
        )
        self.stuck_rooms = ReadGauge(
            registry, "rami_game_stuck_rooms", "Rooms that this replica has failed to move on several times."
        )
        self.due_seconds = histogram(
            registry,
            "rami_game_due_delay_seconds",
            "How late something that was due happened.",
            buckets=DELIVERY_SECONDS,
        )
        self.archived = counter(
            registry,
            "rami_game_archived_matches_total",
            "Finished matches by what the archive made of them: stored, lost (expired before), unreadable, failed (and "
            "tried again).",
            "outcome",
        )
        self.archive_seconds = histogram(
            registry,
            "rami_game_archive_delay_seconds",
            "Time from the end of a match to its place in the archive.",
            buckets=WAIT_SECONDS,
        )
        self.cache = counter(
            registry,
            "rami_game_room_cache_total",
            "Rooms looked for in memory: hit, miss, evicted.",
            "outcome",
        )


__all__ = ["GameMetrics"]
