"""For each alert what makes it fire, and what looks much like it and must not.

A case changes some series of a healthy cluster. When a case is over, the alerts that it names fire and no others do:
the cause is told, and not everything that follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.deploy_series import (
    BLOCKED,
    DELIVERY,
    DRAINING,
    DUE,
    LIMITED,
    LOOP,
    LOOP_LABELS,
    SAMPLES,
    STORE,
    STREAMS_FREE,
    STREAMS_USED,
    WAIT,
    Series,
    action,
    archived,
    blip,
    buckets,
    build,
    changing,
    check,
    cluster,
    durability,
    ended,
    handled,
    replicas,
    rising,
    steady,
    store_up,
    up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Case:
    """Some series that are not as in a healthy cluster, and what is to be heard of it."""

    about: str
    changes: Series
    fires: tuple[str, ...] = ()
    """Names of alerts, without the prefix Rami."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Those of the alerts that fire, severity apart."""
    at: str = "20m"


CASES: Mapping[str, tuple[Case, ...]] = {
    "ActionErrorsFast": (
        Case(
            "one action in twenty fails",
            {action("STORE_UNAVAILABLE"): rising(6)},
            ("ActionErrorsFast", "ActionErrorsSlow"),
        ),
        Case("it was bad for half an hour, and is over", {action("STORE_UNAVAILABLE"): ended(1.5, 60)}, at="50m"),
        Case("players try what is not allowed", {action("WRONG_PHASE"): rising(500)}),
    ),
    "ActionErrorsSlow": (
        Case("eight actions in a thousand fail", {action("INTERNAL"): rising(1)}, ("ActionErrorsSlow",)),
        Case("a few in ten thousand fail", {action("INTERNAL"): rising(0.05)}),
        Case(
            "the store is away, which is told already",
            {
                action("STORE_UNAVAILABLE"): rising(50),
                store_up("g1"): steady(0),
            },
            ("StoreAway",),
        ),
    ),
    "ActionLatencyFast": (
        Case(
            "a third of the actions are slow",
            buckets("rami_game_action_seconds", "", 66, 34, "0.25", "2.5"),
            ("ActionLatencyFast", "ActionLatencySlow"),
        ),
        Case("one in two hundred is slow", buckets("rami_game_action_seconds", "", 199, 1, "0.25", "2.5")),
    ),
    "ActionLatencySlow": (
        Case(
            "one action in ten is slow",
            buckets("rami_game_action_seconds", "", 90, 10, "0.25", "2.5"),
            ("ActionLatencySlow",),
        ),
        Case("one in thirty is slow", buckets("rami_game_action_seconds", "", 29, 1, "0.25", "2.5")),
    ),
    "BotTurnsFast": (
        Case(
            "a third of the decisions are slow",
            buckets("rami_game_bot_decision_seconds", 'level="hard"', 66, 34, "1.0", "2.0"),
            ("BotTurnsFast", "BotTurnsSlow"),
        ),
        Case(
            "one in a hundred is asked twice",
            {
                'rami_game_bot_decisions_total{level="hard", outcome="unavailable"}': rising(1),
            },
        ),
    ),
    "BotTurnsSlow": (
        Case(
            "one decision in ten never comes",
            {
                'rami_game_bot_decisions_total{level="hard", outcome="unavailable"}': rising(11),
            },
            ("BotTurnsSlow",),
        ),
        Case(
            "the AI service is down, which is told already",
            {
                'rami_game_bot_decisions_total{level="hard", outcome="unavailable"}': rising(300),
                'rami_game_fallbacks_total{cause="unavailable"}': rising(100),
                up("rami-ai", "a1"): steady(0),
            },
            ("ServiceDown",),
            {"job": "rami-ai"},
        ),
    ),
    "StuckRooms": (
        Case("a room is stuck", {"rami_game_stuck_rooms": steady(1)}, ("StuckRooms",)),
        Case("a room was stuck for a moment", {"rami_game_stuck_rooms": blip(0, 1)}),
    ),
    "RoomsLate": (
        Case("what is due comes seconds late", buckets(DUE, "", 50, 50, "0.5", "5.0"), ("RoomsLate",)),
        Case("it comes half a second late", buckets(DUE, "", 100, 0, "0.5", "5.0")),
    ),
    "CommitConflicts": (
        Case("one commit in five comes second", {"rami_game_commit_conflicts_total": rising(50)}, ("CommitConflicts",)),
        Case("one in thirty does", {"rami_game_commit_conflicts_total": rising(7)}),
    ),
    "EventsLate": (
        Case("half of the events come late", buckets(DELIVERY, "", 50, 50, "0.05", "5.0"), ("EventsLate",)),
        Case("one in a thousand does", buckets(DELIVERY, "", 999, 1, "0.05", "5.0")),
    ),
    "ArchiveLosing": (
        Case("a match has expired", {archived("lost"): changing(0, 30, 1)}, ("ArchiveLosing",)),
        Case("matches are stored", {archived("stored"): rising(50)}),
    ),
    "ArchiveFailing": (
        Case("the bucket refuses", {archived("failed"): rising(2)}, ("ArchiveFailing",)),
        Case("one was tried again", {archived("failed"): changing(0, 30, 1)}),
    ),
    "Fallbacks": (
        Case(
            "one action in twenty is the fallback's",
            {
                'rami_game_fallbacks_total{cause="unavailable"}': rising(5),
            },
            ("Fallbacks",),
        ),
        Case("one in a thousand is", {'rami_game_fallbacks_total{cause="unavailable"}': rising(0.1)}),
    ),
    "DecisionQueueOld": (
        Case(
            "the oldest waits for 3 s",
            {
                'rami_ai_queue_age_seconds{instance="a1"}': steady(3),
            },
            ("DecisionQueueOld",),
        ),
        Case("it waited for 3 s once", {'rami_ai_queue_age_seconds{instance="a1"}': blip(0, 3, samples=32)}),
    ),
    "DecisionsRefused": (
        Case(
            "one decision in ten is refused",
            {
                'rami_ai_decisions_total{level="hard", outcome="queue_full"}': rising(11),
            },
            ("DecisionsRefused",),
        ),
        Case("one in a thousand is", {'rami_ai_decisions_total{level="hard", outcome="queue_full"}': rising(0.1)}),
    ),
    "WorkersDying": (
        Case("five died in ten minutes", {"rami_ai_worker_restarts_total": rising(0.25)}, ("WorkersDying",)),
        Case("one has died", {"rami_ai_worker_restarts_total": changing(0, 30, 1)}),
    ),
    "NoWorkers": (
        Case(
            "no worker decides",
            {
                check("workers", "rami-ai", "a1"): steady(0),
            },
            ("NoWorkers",),
            {"instance": "a1"},
        ),
        Case("there was none for a moment", {check("workers", "rami-ai", "a1"): blip(1, 0)}),
    ),
    "MatchmakerDead": (
        Case(
            "no pass comes through",
            {
                check("matching", "rami-matchmaking", "m1"): steady(0),
            },
            ("MatchmakerDead",),
            {"instance": "m1"},
        ),
        Case(
            "none can, because the store is away",
            {
                check("matching", "rami-matchmaking", "m1"): steady(0),
                store_up("g1"): steady(0),
                store_up("g2"): steady(0),
            },
            ("StoreAway",),
        ),
    ),
    "QueueNotMoving": (
        Case(
            "twenty wait and nobody is matched",
            {
                'rami_matchmaking_live_tickets{state="waiting"}': steady(20),
                'rami_matchmaking_tickets_total{event="matched"}': steady(400),
            },
            ("QueueNotMoving",),
        ),
        Case("twenty wait and others are matched", {'rami_matchmaking_live_tickets{state="waiting"}': steady(20)}),
        Case(
            "two wait at night",
            {
                'rami_matchmaking_live_tickets{state="waiting"}': steady(2),
                'rami_matchmaking_tickets_total{event="matched"}': steady(400),
            },
        ),
    ),
    "MatchWaitsLong": (
        Case(
            "half of the players wait for minutes",
            buckets(WAIT, 'seats="3", outcome="people"', 10, 10, "10.0", "300.0"),
            ("MatchWaitsLong",),
            at="25m",
        ),
        Case(
            "some give up after minutes",
            buckets(WAIT, 'seats="0", outcome="cancelled"', 10, 10, "10.0", "300.0"),
            at="25m",
        ),
    ),
    "RoomsRefused": (
        Case("rooms are refused", {'rami_matchmaking_matches_total{outcome="refused"}': rising(1)}, ("RoomsRefused",)),
        Case("one room was refused", {'rami_matchmaking_matches_total{outcome="refused"}': changing(0, 30, 1)}),
        Case(
            "there is no game service, which is told already",
            {
                'rami_matchmaking_matches_total{outcome="refused"}': rising(1),
                up("rami-game", "g1"): steady(0),
                up("rami-game", "g2"): steady(0),
            },
            ("ServiceDown",),
            {"job": "rami-game"},
        ),
    ),
    "RatingsFailing": (
        Case(
            "matches cannot be rated",
            {
                'rami_matchmaking_rating_updates_total{outcome="failed"}': rising(0.2),
            },
            ("RatingsFailing",),
        ),
        Case("matches are abandoned", {'rami_matchmaking_rating_updates_total{outcome="abandoned"}': rising(5)}),
    ),
    "RecordsUnreadable": (
        Case(
            "tickets cannot be read",
            {
                'rami_matchmaking_unreadable_records_total{kind="ticket"}': rising(0.2),
            },
            ("RecordsUnreadable",),
        ),
        Case("none ever could not", {'rami_matchmaking_unreadable_records_total{kind="claim"}': steady(7)}),
    ),
    "StoreAway": (
        Case("it does not answer one process", {store_up("g2"): changing(1, 28, 0)}, ("StoreAway",)),
        Case("it was away and is back", {store_up("g2"): blip(1, 0, samples=32)}),
    ),
    "StoreSlow": (
        Case("one call in twenty is slow", buckets(STORE, 'command="commit"', 950, 50, "0.005", "2.0"), ("StoreSlow",)),
        Case("one in a thousand is", buckets(STORE, 'command="commit"', 999, 1, "0.005", "2.0")),
    ),
    "StoreCallsFailing": (
        Case(
            "a part of the store is away",
            {
                'rami_store_calls_total{command="commit", outcome="unavailable"}': rising(100),
            },
            ("StoreCallsFailing",),
        ),
        Case(
            "all of it is, which is told already",
            {
                'rami_store_calls_total{command="commit", outcome="unavailable"}': rising(900),
                store_up("g1"): steady(0),
                store_up("g2"): steady(0),
            },
            ("StoreAway",),
        ),
    ),
    "StoreMemoryHigh": (
        Case(
            "nine tenths are used",
            {
                'rami_store_server_memory_bytes{server="r1"}': steady(900),
            },
            ("StoreMemoryHigh",),
            {"server": "r1"},
        ),
        Case(
            "there is no limit",
            {
                'rami_store_server_memory_bytes{server="r1"}': steady(900),
                'rami_store_server_memory_limit_bytes{server="r1"}': steady(0),
            },
        ),
    ),
    "StoreEvicting": (
        Case(
            "keys are thrown away",
            {
                'rami_store_server_evicted_keys{server="r1"}': rising(3),
            },
            ("StoreEvicting",),
            {"server": "r1"},
        ),
        Case("some were, long ago", {'rami_store_server_evicted_keys{server="r1"}': steady(12)}),
    ),
    "StoreNotPersisting": (
        Case(
            "the disk is full",
            {
                'rami_store_server_persistence_ok_info{server="r1"}': steady(0),
            },
            ("StoreNotPersisting",),
            {"server": "r1"},
        ),
        Case("one write failed", {'rami_store_server_persistence_ok_info{server="r1"}': blip(1, 0)}),
    ),
    "StoreReplicaMissing": (
        Case(
            "the only one is gone",
            {**replicas("r1", changing(1, 20, 0)), **replicas("r1", changing(1, 20, 0), "g2")},
            ("StoreReplicaMissing",),
            {"server": "r1"},
        ),
        Case(
            "a replica is the master now, and has none itself",
            {
                **replicas("r1", "1+0x19 stale"),
                **replicas("r1", "1+0x19 stale", "g2"),
                **replicas("r2", f"_x20 0+0x{SAMPLES}"),
            },
            ("StoreReplicaMissing",),
            {"server": "r2"},
        ),
        Case(
            "one shard of two has none, and never had",
            {**replicas("r2", steady(0)), **replicas("r2", steady(0), "g2")},
            ("StoreReplicaMissing",),
            {"server": "r2"},
        ),
        Case(
            "the only one is gone, and one process of two still waits for it",
            {
                **replicas("r1", steady(0)),
                **replicas("r1", steady(0), "g2"),
                **durability("fsync", instance="g2"),
            },
            ("StoreReplicaMissing",),
            {"server": "r1"},
        ),
        Case(
            "the only one is gone, and nobody waits for it",
            {
                **replicas("r1", changing(1, 20, 0)),
                **replicas("r1", changing(1, 20, 0), "g2"),
                **durability("fsync"),
                **durability("memory", instance="g2"),
            },
        ),
        Case(
            "another cluster has a store without any, on the same Prometheus",
            {**replicas("other", steady(0), "g9"), **durability("memory", instance="g9")},
        ),
        Case("one of two is gone", {**replicas("r1", changing(2, 20, 1)), **replicas("r1", steady(0), "g2")}),
        Case("it was connected anew", {**replicas("r1", blip(1, 0)), **replicas("r1", blip(1, 0), "g2")}),
    ),
    "EdgeWithoutService": (
        Case(
            "health checks of the game service fail",
            {cluster("membership_healthy"): steady(0)},
            ("EdgeWithoutService",),
            {"envoy_cluster_name": "game_calls"},
        ),
        Case(
            "they fail because the store is away",
            {cluster("membership_healthy"): steady(0), store_up("g1"): steady(0), store_up("g2"): steady(0)},
            ("StoreAway",),
        ),
        Case(
            "matchmaking is down, which is told already",
            {cluster("membership_healthy", "matchmaking_calls"): steady(0), up("rami-matchmaking", "m1"): steady(0)},
            ("ServiceDown",),
            {"job": "rami-matchmaking"},
        ),
    ),
    "EdgeOverloaded": (
        Case("one call in ten is turned away", {BLOCKED: rising(100)}, ("EdgeOverloaded",)),
        Case("one in a hundred is", {BLOCKED: rising(10)}),
    ),
    "EdgeRateLimiting": (
        Case("one call in ten is too many of its address", {LIMITED: rising(100)}, ("EdgeRateLimiting",)),
        Case("somebody tried for two minutes", {LIMITED: ended(200, 4)}),
    ),
    "EdgeRetrying": (
        Case("one call in ten is sent twice", {cluster("upstream_rq_retry"): rising(100)}, ("EdgeRetrying",)),
        Case("one in a hundred is", {cluster("upstream_rq_retry"): rising(10)}),
    ),
    "EdgeEjecting": (
        Case(
            "a replica is left out",
            {cluster("outlier_detection_ejections_active"): steady(1)},
            ("EdgeEjecting",),
            {"envoy_cluster_name": "game_calls"},
        ),
        Case("it was for a moment", {cluster("outlier_detection_ejections_active"): blip(0, 1)}),
    ),
    "EdgeStreamsFull": (
        Case(
            "nine of ten streams are used",
            {STREAMS_USED: steady(900), STREAMS_FREE: steady(100)},
            ("EdgeStreamsFull",),
            {"instance": "e1", "envoy_cluster_name": "game_streams"},
        ),
        Case("half of them are", {STREAMS_USED: steady(500), STREAMS_FREE: steady(500)}),
    ),
    "ServiceDown": (
        Case(
            "no matchmaker can be reached",
            {
                up("rami-matchmaking", "m1"): steady(0),
            },
            ("ServiceDown",),
            {"job": "rami-matchmaking"},
        ),
        Case("something else on the same Prometheus is down", {up("postgres", "p1"): steady(0)}),
    ),
    "InstanceDown": (
        Case(
            "one of two game services is down",
            {
                up("rami-game", "g2"): steady(0),
            },
            ("InstanceDown",),
            {"job": "rami-game"},
        ),
        Case("one is being replaced", {up("rami-game", "g2"): blip(1, 0)}),
    ),
    "ErrorRatio": (
        Case(
            "one call in twenty ends with a defect",
            {handled("INTERNAL"): rising(50)},
            ("ErrorRatio",),
            {
                "job": "rami-game",
            },
        ),
        Case(
            "streams get old, and end to come again",
            {
                handled("UNAVAILABLE", "rami.game.v1.GameService/Play"): rising(100),
            },
        ),
        Case("callers ask for what is not there", {handled("NOT_FOUND"): rising(900)}),
    ),
    "LoopSlow": (
        Case(
            "the loop hangs",
            buckets(LOOP, LOOP_LABELS, 100, 50, "0.01", "1.0"),
            ("LoopSlow",),
            {
                "job": "rami-game",
                "instance": "g1",
            },
        ),
        Case("it was late once in a thousand times", buckets(LOOP, LOOP_LABELS, 999, 1, "0.01", "1.0")),
    ),
    "TasksCrashing": (
        Case(
            "the sweeper crashes",
            {
                'rami_task_crashes_total{job="rami-game", task="sweeper"}': rising(1),
            },
            ("TasksCrashing",),
            {"job": "rami-game", "task": "sweeper"},
        ),
        Case("it crashed once", {'rami_task_crashes_total{job="rami-game", task="sweeper"}': changing(0, 30, 1)}),
    ),
    "DrainStuck": (
        Case(
            "a drain takes 18 of its 20 s",
            {DRAINING: "0+0x35 3 18"},
            ("DrainStuck",),
            {
                "job": "rami-game",
                "instance": "g1",
            },
        ),
        Case("a drain takes 3 s", {DRAINING: "0+0x35 3"}),
    ),
    "VersionsMixed": (
        Case(
            "two versions for more than half an hour",
            {
                build("game", "g2", "1.0"): f"_x{SAMPLES}",
                build("game", "g2", "1.1"): steady(1),
            },
            ("VersionsMixed",),
            at="50m",
        ),
        Case(
            "a rollout takes ten minutes",
            {
                build("game", "g2", "1.0"): "1+0x60 stale",
                build("game", "g2", "1.1"): "_x60 1+0x50",
                build("game", "g1", "1.0"): "1+0x80 stale",
                build("game", "g1", "1.1"): "_x80 1+0x30",
            },
            at="50m",
        ),
    ),
}
