"""Every metric of every service: name, help text, labels and buckets, and the page that shows them.

Names are rami_<area>_<what>_<unit>. Labels are few and come from code: methods, codes, kinds, outcomes,
levels. Never a room, player, ticket or request. The areas `grpc`, `store` and `task` are written by this
package and exist in every service; `game`, `ai` and `matchmaking` belong to the service of that name, which
makes its own class once.
"""

from __future__ import annotations

import socket
from functools import cached_property
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    MetricsHandler,
    PlatformCollector,
    ProcessCollector,
)

from rami_kit.instruments import counter, gauge, histogram

RPC_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0)
STORE_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
BATCH_SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
DELIVERY_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
TURN_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
DECISION_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
WAIT_SECONDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
SPREAD_POINTS: Final = (0.0, 25.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0, 500.0)
MATCH_QUALITY: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


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
        self.due_seconds = histogram(
            registry,
            "rami_game_due_delay_seconds",
            "How late something that was due happened.",
            buckets=DELIVERY_SECONDS,
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
            "Time a decision waited for a worker.",
            buckets=DECISION_SECONDS,
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
            "Time from a ticket to its end, by seats of the table (0: none) and outcome: "
            "people, bots, cancelled, expired.",
            "seats",
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


class Metrics:
    """The registry of one process and the areas that every service has."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.grpc = GrpcMetrics(self.registry)
        self.tasks = TaskMetrics(self.registry)

    @cached_property
    def store(self) -> StoreMetrics:
        """What a service with a store writes; the page of one without shows nothing of it."""
        return StoreMetrics(self.registry)


class _Ipv6Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6


class MetricsServer:
    """The Prometheus page, served by a thread of its own so a busy event loop shows its numbers too."""

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        """Listens at once. Raises OSError for a port that is taken."""
        server_class = _Ipv6Server if ":" in host else ThreadingHTTPServer
        self._server = server_class((host, port), MetricsHandler.factory(metrics.registry))
        self._server.daemon_threads = True
        self.port: int = self._server.server_port
        # The interval bounds how long `close` takes.
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops listening and ends the thread; blocks for as long as one page takes."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def start_metrics_server(metrics: Metrics, *, host: str = "127.0.0.1", port: int = 0) -> MetricsServer:
    """Serves the page; port 0 picks a free one, `port` of the result is the actual one."""
    return MetricsServer(metrics, host, port)


__all__ = [
    "AiMetrics",
    "GameMetrics",
    "GrpcMetrics",
    "MatchmakingMetrics",
    "Metrics",
    "MetricsServer",
    "StoreMetrics",
    "TaskMetrics",
    "start_metrics_server",
]
