"""The series of the game service that exist from its start: those that operators ask for before anything happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami.game.v1 import event_pb2, rules_pb2
from rami_engine import ActionKind
from rami_kit.metrics import FAULT_REASONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rami_kit.metrics import GameMetrics

DECISION_FAILURES: Final = (
    "cancelled",
    "deadline_exceeded",
    "illegal",
    "internal",
    "malformed",
    "resource_exhausted",
    "unavailable",
)
"""The usual ways in which a decision is of no use; a rarer status code gets its series when it comes."""


def prepare(metrics: GameMetrics, bots: Iterable[str]) -> None:
    """Shows zeros for what may happen in this process; `bots` are the profiles that it asks for."""
    actors = _names(event_pb2.ActionSource, "ACTION_SOURCE_")
    kinds = [kind.name.lower() for kind in ActionKind]
    levels = sorted(set(bots))
    metrics.actions.prepare(kinds, actors, ("ok",))
    metrics.actions.prepare(kinds, ("player",), ("repeat", *FAULT_REASONS))
    metrics.turn_seconds.prepare(actors)
    metrics.commits.prepare(("play", "room"))
    metrics.watchers.prepare(("seat", "spectator"))
    metrics.bot_decisions.prepare(levels, ("ok", *DECISION_FAILURES))
    metrics.bot_seconds.prepare(levels)
    metrics.fallbacks.prepare(("none", *DECISION_FAILURES))
    metrics.archived.prepare(("stored", "lost", "unreadable", "failed"))
    metrics.matches.prepare(_names(rules_pb2.MatchEndReason, "MATCH_END_REASON_"))


def _names(enum: type[event_pb2.ActionSource | rules_pb2.MatchEndReason], prefix: str) -> list[str]:
    names = [name.removeprefix(prefix).lower() for name in enum.keys()]  # noqa: SIM118 - no dict: an enum has no other
    return [name for name in names if name != "unspecified"]


__all__ = ["DECISION_FAILURES", "prepare"]
