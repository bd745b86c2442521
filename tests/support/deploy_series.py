"""Series of metrics as promtool's tests take them, and those of a cluster that is well.

Values are in promtool's notation, a sample every 30 s.
"""

from __future__ import annotations

from collections.abc import Mapping

SAMPLES = 110
Series = Mapping[str, str]


def steady(value: float) -> str:
    """A gauge that stays."""
    return f"{value:g}+0x{SAMPLES}"


def rising(step: float, start: float = 0) -> str:
    """A counter that grows by `step` a sample."""
    return f"{start:g}+{step:g}x{SAMPLES}"


def changing(before: float, samples: int, after: float) -> str:
    """A gauge that changes after so many samples."""
    return f"{before:g}+0x{samples - 1} {after:g}+0x{SAMPLES}"


def blip(usual: float, once: float, samples: int = 36) -> str:
    """A gauge that was different once, after so many samples: at 18 min, a moment ago.

    What a recording rule brings to an alert may come one evaluation later: promtool evaluates groups in any order.
    """
    return f"{usual:g}+0x{samples - 1} {once:g} {usual:g}+0x{SAMPLES}"


def ended(step: float, samples: int) -> str:
    """A counter that grew for so many samples, and no more."""
    return f"0+{step:g}x{samples - 1} {step * samples:g}+0x{SAMPLES}"


def buckets(name: str, labels: str, quick: float, slow: float, *bounds: str) -> dict[str, str]:
    """A histogram in which so many observations a sample are within the first bound, and so many up to the second."""
    bound, top = bounds
    comma = f"{labels}, " if labels else ""
    return {
        f'{name}_bucket{{{comma}le="{bound}"}}': rising(quick),
        f'{name}_bucket{{{comma}le="{top}"}}': rising(quick + slow),
        f'{name}_bucket{{{comma}le="+Inf"}}': rising(quick + slow),
        f"{name}_count{{{labels}}}": rising(quick + slow),
    }


def action(outcome: str, actor: str = "player") -> str:
    return f'rami_game_actions_total{{actor="{actor}", kind="discard", outcome="{outcome}"}}'


def handled(code: str, method: str = "rami.game.v1.GameService/GetRoom", job: str = "rami-game") -> str:
    return f'rami_grpc_handled_total{{job="{job}", method="{method}", code="{code}"}}'


def archived(outcome: str) -> str:
    return f'rami_game_archived_matches_total{{outcome="{outcome}"}}'


def up(job: str, instance: str) -> str:
    return f'up{{job="{job}", instance="{instance}"}}'


def check(name: str, job: str, instance: str) -> str:
    return f'rami_app_check_info{{check="{name}", job="{job}", instance="{instance}"}}'


def build(service: str, instance: str, version: str) -> str:
    return f'rami_app_build_info{{service="{service}", version="{version}", instance="{instance}"}}'


def store_up(instance: str) -> str:
    return f'rami_store_up_info{{instance="{instance}"}}'


def replicas(server: str, values: str, instance: str = "g1") -> dict[str, str]:
    """How many replicas a server of the store has, as a process sees it."""
    return {f'rami_store_server_replicas{{server="{server}", job="rami-game", instance="{instance}"}}': values}


def durability(mode: str, values: str = steady(1), instance: str = "g1") -> dict[str, str]:
    """What a process waits for before it acknowledges a move: one of the modes is 1, the others are 0."""
    shown = dict.fromkeys(("memory", "fsync", "replica"), steady(0)) | {mode: values}
    labels = f'job="rami-game", instance="{instance}"'
    return {f'rami_store_durability_info{{durability="{each}", {labels}}}': value for each, value in shown.items()}


def cluster(metric: str, name: str = "game_calls") -> str:
    return f'envoy_cluster_{metric}{{envoy_cluster_name="{name}", instance="e1"}}'


EDGE_PREFIX = 'envoy_http_conn_manager_prefix="edge", instance="e1"'
BLOCKED = f"envoy_http_adaptive_concurrency_gradient_controller_rq_blocked{{{EDGE_PREFIX}}}"
LIMITED = 'envoy_http_local_rate_limit_rate_limited{envoy_local_http_ratelimit_prefix="per_address", instance="e1"}'
STREAMS_FREE = cluster("circuit_breakers_default_remaining_rq", "game_streams")
STREAMS_USED = cluster("upstream_rq_active", "game_streams")
DELIVERY = "rami_game_event_delivery_seconds"
DUE = "rami_game_due_delay_seconds"
WAIT = "rami_matchmaking_wait_seconds"
STORE = "rami_store_seconds"
LOOP = "rami_app_loop_delay_seconds"
LOOP_LABELS = 'job="rami-game", instance="g1"'
DRAINING = 'rami_app_draining_seconds{job="rami-game", instance="g1"}'

HEALTHY: Series = {
    up("rami-game", "g1"): steady(1),
    up("rami-game", "g2"): steady(1),
    up("rami-ai", "a1"): steady(1),
    up("rami-matchmaking", "m1"): steady(1),
    store_up("g1"): steady(1),
    store_up("g2"): steady(1),
    build("game", "g1", "1.0"): steady(1),
    build("game", "g2", "1.0"): steady(1),
    check("matching", "rami-matchmaking", "m1"): steady(1),
    check("workers", "rami-ai", "a1"): steady(1),
    action("ok"): rising(100),
    action("WRONG_PHASE"): rising(20),
    action("STORE_UNAVAILABLE"): steady(0),
    action("ok", "bot"): rising(100),
    **buckets("rami_game_action_seconds", "", 100, 0, "0.25", "2.5"),
    **buckets("rami_game_bot_decision_seconds", 'level="hard"', 100, 0, "1.0", "2.0"),
    'rami_game_bot_decisions_total{level="hard", outcome="ok"}': rising(100),
    'rami_game_bot_decisions_total{level="hard", outcome="unavailable"}': steady(0),
    'rami_game_fallbacks_total{cause="unavailable"}': steady(0),
    "rami_game_stuck_rooms": steady(0),
    "rami_game_commit_conflicts_total": rising(1),
    'rami_game_commits_total{kind="play"}': rising(200),
    **buckets(DUE, "", 10, 0, "0.5", "5.0"),
    **buckets(DELIVERY, "", 100, 0, "0.05", "5.0"),
    archived("lost"): steady(0),
    archived("failed"): steady(0),
    'rami_ai_queue_age_seconds{instance="a1"}': steady(0.02),
    'rami_ai_decisions_total{level="hard", outcome="ok"}': rising(100),
    'rami_ai_decisions_total{level="hard", outcome="queue_full"}': steady(0),
    "rami_ai_worker_restarts_total": steady(0),
    'rami_matchmaking_live_tickets{state="waiting"}': steady(3),
    'rami_matchmaking_tickets_total{event="matched"}': rising(4),
    **buckets(WAIT, 'seats="3", outcome="people"', 10, 0, "10.0", "300.0"),
    'rami_matchmaking_matches_total{outcome="refused"}': steady(0),
    'rami_matchmaking_rating_updates_total{outcome="failed"}': steady(0),
    'rami_matchmaking_unreadable_records_total{kind="ticket"}': steady(0),
    **buckets(STORE, 'command="commit"', 1000, 0, "0.005", "2.0"),
    'rami_store_calls_total{command="commit", outcome="ok"}': rising(1000),
    'rami_store_calls_total{command="commit", outcome="unavailable"}': steady(0),
    'rami_store_server_memory_bytes{server="r1"}': steady(500),
    'rami_store_server_memory_limit_bytes{server="r1"}': steady(1000),
    'rami_store_server_evicted_keys{server="r1"}': steady(0),
    'rami_store_server_persistence_ok_info{server="r1"}': steady(1),
    **replicas("r1", steady(1)),
    **replicas("r1", steady(1), "g2"),
    **durability("replica"),
    **durability("replica", instance="g2"),
    up("rami-edge", "e1"): steady(1),
    f"envoy_http_downstream_rq_total{{{EDGE_PREFIX}}}": rising(1000),
    BLOCKED: steady(0),
    LIMITED: steady(0),
    cluster("membership_healthy"): steady(2),
    cluster("membership_healthy", "matchmaking_calls"): steady(1),
    cluster("upstream_rq_retry"): steady(0),
    cluster("upstream_rq_total"): rising(1000),
    cluster("outlier_detection_ejections_active"): steady(0),
    STREAMS_USED: steady(100),
    STREAMS_FREE: steady(900),
    handled("OK"): rising(1000),
    handled("INTERNAL"): steady(0),
    handled("UNAVAILABLE", "rami.game.v1.GameService/Play"): steady(0),
    **buckets(LOOP, LOOP_LABELS, 150, 0, "0.01", "1.0"),
    'rami_task_crashes_total{job="rami-game", task="sweeper"}': steady(0),
    DRAINING: steady(0),
    'rami_app_drain_grace_seconds{job="rami-game", instance="g1"}': steady(20),
}
