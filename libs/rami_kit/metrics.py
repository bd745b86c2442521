"""Every metric of every service: name, help text, labels and buckets.

Names are rami_<area>_<what>_<unit>. Labels are few and come from code: methods, codes, kinds, outcomes,
levels. Never a room, player, ticket or request. The areas `app`, `grpc`, `store` and `task` are written by this
package and exist in every service; `game`, `ai` and `matchmaking` belong to the service of that name, which
makes its own class once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from rami_kit.instruments import ReadGauge, counter, gauge, histogram

RPC_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0)
STORE_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
BATCH_SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
ACTION_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LOOP_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
DELIVERY_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
TURN_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
DECISION_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
WAIT_SECONDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
SPREAD_POINTS: Final = (0.0, 25.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0, 500.0)
MATCH_QUALITY: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

STORE_FAILURES: Final = ("error", "unavailable", "uncertain")
FAULT_CODES: Final = ("CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE")
"""Codes that say more of the service than of its caller: shown for every method from the start."""
FAULT_REASONS: Final = ("INTERNAL", "PEER_UNAVAILABLE", "SHUTTING_DOWN", "STORE_UNAVAILABLE")
"""Outcomes of an action that are not the player's doing."""


class GrpcMetrics:
    """Rate, errors and duration of every RPC; written by the interceptor."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.started = counter(registry, "rami_grpc_started_total", "RPCs begun.", "method")
        self.handled = counter(
            registry,
            "rami_grpc_handled_total",
            "RPCs ended, refused and cancelled ones too.",
            "method",
            "code",
        )
        self.seconds = histogram(
            registry,
            "rami_grpc_seconds",
            "Time from the start of an RPC to its end; a stream counts once.",
            "method",
            buckets=RPC_SECONDS,
        )
        self.in_flight = gauge(
            registry, "rami_grpc_in_flight", "RPCs begun whose handlers have not finished.", "method"
        )
        self.limited = counter(
            registry, "rami_grpc_limited_total", "Calls and messages refused by a rate or a cap of callers.", "limit"
        )

    def prepare(self, method: str) -> None:
        """Shows a method, such as "rami.game.v1.GameService/GetRoom", before it is called for the first time."""
        for family in (self.started, self.seconds, self.in_flight):
            family.labels(method)
        self.handled.prepare((method,), ("OK", *FAULT_CODES))


class StoreMetrics:
    """What calls to the store cost and how they end; written by the store's clients."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = histogram(
            registry,
            "rami_store_seconds",
            "Time from a call to its answer, waiting for a connection included.",
            "command",
            buckets=STORE_SECONDS,
        )
        self.calls = counter(
            registry,
            "rami_store_calls_total",
            "Calls by script or command and outcome: ok, error, unavailable, uncertain.",
            "command",
            "outcome",
        )
        self.batch_size = histogram(
            registry,
            "rami_store_batch_size_calls",
            "Calls sent to the store as one batch.",
            buckets=BATCH_SIZES,
        )
        self.connections = gauge(registry, "rami_store_connections_count", "Open connections of the pool.")
        self.waiting = ReadGauge(
            registry, "rami_store_waiting_count", "Calls of which nothing has been sent: no connection is free."
        )
        self.server_memory = gauge(
            registry, "rami_store_server_memory_bytes", "Memory that a server of the store uses.", "server"
        )
        self.server_memory_limit = gauge(
            registry, "rami_store_server_memory_limit_bytes", "Its maxmemory; 0 = none.", "server"
        )
        self.server_clients = gauge(registry, "rami_store_server_clients_count", "Connections to a server.", "server")
        self.server_commands = gauge(
            registry, "rami_store_server_commands_count", "Commands a server has done since it began.", "server"
        )
        self.server_evicted = gauge(
            registry,
            "rami_store_server_evicted_keys_count",
            "Keys a server has thrown away for want of memory since it began: each may be a room.",
            "server",
        )
        self.server_keys = gauge(registry, "rami_store_server_keys_count", "Keys of a server.", "server")
        self.server_replicas = gauge(
            registry, "rami_store_server_replicas_count", "Replicas connected to a server.", "server"
        )
        self.server_writes_ok = gauge(
            registry,
            "rami_store_server_persistence_ok_info",
            "1 while the last snapshot and the last write of the log went well, else 0.",
            "server",
        )
        self.up = gauge(registry, "rami_store_up_info", "1 while the store answers, else 0.")
        self.script_loads = counter(
            registry, "rami_store_script_loads_total", "Scripts sent because the store did not know them."
        )
        self.subscriber_connects = counter(
            registry, "rami_store_subscriber_connects_total", "Connections made to receive published events."
        )


class TaskMetrics:
    """Background tasks; written by the app that runs them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.crashes = counter(
            registry, "rami_task_crashes_total", "Background tasks that crashed and were restarted.", "task"
        )


class AppMetrics:
    """The process: readiness, drain and the event loop; written by the app."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.build = gauge(
            registry, "rami_app_build_info", "1; says which service and version runs.", "service", "version"
        )
        self.ready = gauge(registry, "rami_app_ready_info", "1 while the process is SERVING, else 0.")
        self.checks = gauge(registry, "rami_app_check_info", "1 while a check of readiness holds, else 0.", "check")
        self.draining = ReadGauge(
            registry, "rami_app_draining_seconds", "How long the process has been draining; 0 while it is not."
        )
        self.drain_grace = gauge(registry, "rami_app_drain_grace_seconds", "The longest time that draining may take.")
        self.loop_delay = histogram(
            registry,
            "rami_app_loop_delay_seconds",
            "How late the event loop gets to what is due, looked at five times a second.",
            buckets=LOOP_SECONDS,
        )


class GameMetrics:
    """Rooms, actions and watchers; written by the game service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.rooms = gauge(registry, "rami_game_rooms_count", "Rooms in the memory of this replica by state.", "state")
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
        self.watchers = gauge(registry, "rami_game_watchers_count", "Open watches by kind of viewer.", "viewer")
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
            registry, "rami_game_stuck_rooms_count", "Rooms that this replica has failed to move on several times."
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


class AiMetrics:
    """Decisions and the queue before the workers; written by the front of the AI service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.decisions = counter(
            registry, "rami_ai_decisions_total", "Decisions by level and outcome.", "level", "outcome"
        )
        self.seconds = histogram(
            registry,
            "rami_ai_decision_seconds",
            "Time from admission to the decision, queue included.",
            "level",
            buckets=DECISION_SECONDS,
        )
        self.queue_depth = gauge(registry, "rami_ai_queue_depth_count", "Decisions waiting for a worker.")
        self.queue_seconds = histogram(
            registry,
            "rami_ai_queue_seconds",
            "Time a decision waited for a worker, by who waits for it: people, bots_only.",
            "class",
            buckets=DECISION_SECONDS,
        )
        self.queue_age = ReadGauge(
            registry,
            "rami_ai_queue_age_seconds",
            "How long the oldest decision of the queue has waited; 0 if none waits.",
        )
        self.busy_seconds = counter(
            registry,
            "rami_ai_worker_busy_seconds_total",
            "Time that workers spent on decisions; its rate by the number of workers is their busy share.",
        )
        self.workers = gauge(registry, "rami_ai_workers_count", "Worker processes by state.", "state")
        self.worker_restarts = counter(
            registry, "rami_ai_worker_restarts_total", "Worker processes that died and were replaced."
        )


class MatchmakingMetrics:
    """Tickets, matches and ratings; written by the matchmaking service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.tickets = gauge(
            registry,
            "rami_matchmaking_tickets_count",
            "Live tickets: waiting as this replica sees the queue, claimed as this replica holds them.",
            "state",
        )
        self.ticket_events = counter(
            registry,
            "rami_matchmaking_tickets_total",
            "What became of tickets: created, matched, cancelled, expired, put_back.",
            "event",
        )
        self.wait_seconds = histogram(
            registry,
            "rami_matchmaking_wait_seconds",
            "Time from a ticket to its end, by pool (seats of the table, 0 for none; rules: default, other, none) and "
            "outcome: people, bots, cancelled, expired.",
            "seats",
            "rules",
            "outcome",
            buckets=WAIT_SECONDS,
        )
        self.match_quality = histogram(
            registry,
            "rami_matchmaking_match_quality_ratio",
            "How even the tables are: 1 is a coin toss between the best and the weakest player.",
            buckets=MATCH_QUALITY,
        )
        self.match_spread = histogram(
            registry,
            "rami_matchmaking_match_spread_points",
            "Rating points between the best and the weakest player of a table.",
            buckets=SPREAD_POINTS,
        )
        self.matches = counter(
            registry,
            "rami_matchmaking_matches_total",
            "Tables by outcome: people, bots, refused (no room), conflict (another replica was first).",
            "outcome",
        )
        self.claims_resumed = counter(
            registry,
            "rami_matchmaking_claims_resumed_total",
            "Claims taken over because the lease of their process had run out.",
        )
        self.pass_seconds = histogram(
            registry,
            "rami_matchmaking_pass_seconds",
            "Time that the matcher computes in one pass over the queue.",
            buckets=RPC_SECONDS,
        )
        self.passes_failed = counter(
            registry,
            "rami_matchmaking_passes_failed_total",
            "Passes over the queue that failed, by cause: store, defect.",
            "cause",
        )
        self.unreadable = counter(
            registry,
            "rami_matchmaking_unreadable_records_total",
            "Stored records that could not be read and were left out, by kind.",
            "kind",
        )
        self.rating_updates = counter(
            registry,
            "rami_matchmaking_rating_updates_total",
            "Finished matches by what ratings made of them: rated, duplicate, abandoned, no_winner, bots_only, "
            "unmatched, too_old, unreadable; failed ones are tried again.",
            "outcome",
        )
        self.guests = counter(registry, "rami_matchmaking_guests_total", "Guests signed in.")
        self.watchers = gauge(
            registry, "rami_matchmaking_watchers_count", "Open watches of tickets, and cancels that wait."
        )

    def prepare(self) -> None:
        """Shows zeros for what may happen: see the help texts."""
        self.tickets.prepare(("waiting", "claimed"))
        self.ticket_events.prepare(("created", "matched", "cancelled", "expired", "put_back"))
        self.wait_seconds.prepare(("2", "3", "4"), ("default", "other"), ("people", "bots"))
        self.wait_seconds.prepare(("0",), ("none",), ("cancelled", "expired"))
        self.matches.prepare(("people", "bots", "refused", "conflict"))
        self.passes_failed.prepare(("store", "defect"))
        self.unreadable.prepare(("claim", "ticket"))
        self.rating_updates.prepare(
            (
                *("rated", "duplicate", "abandoned", "no_winner", "bots_only"),
                *("unmatched", "too_old", "unreadable", "failed"),
            )
        )


class Metrics:
    """The registry of one process and the areas that every service has."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.grpc = GrpcMetrics(self.registry)
        self.tasks = TaskMetrics(self.registry)
        self.app = AppMetrics(self.registry)

    @cached_property
    def store(self) -> StoreMetrics:
        """What a service with a store writes; the page of one without shows nothing of it."""
        return StoreMetrics(self.registry)


__all__ = [
    "FAULT_CODES",
    "FAULT_REASONS",
    "STORE_FAILURES",
    "AiMetrics",
    "AppMetrics",
    "GameMetrics",
    "GrpcMetrics",
    "MatchmakingMetrics",
    "Metrics",
    "StoreMetrics",
    "TaskMetrics",
]
