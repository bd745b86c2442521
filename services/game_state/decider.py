"""Asking the AI service what a bot does, and what is done without a usable answer.

The request is built from the seat's own view and nothing else; its policy seed has nothing to do with any shuffle.
A decision that fails is asked for again, elsewhere where there is more than one process. A service that is busy, or has
gone away just now, is waited for: a moment where people sit at the table, longer where only bots do. After that the
engine's fallback plays, so that no room ever waits for a bot.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from rami.ai.v1 import decision_service_pb2
from rami_engine import fallback_action, legal_actions, seat_view
from rami_kit.backoff import Backoff
from rami_kit.tracing import span
from rami_wire import encode_actions, encode_field, encode_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from game_state.bot_roster import BotRoster
    from game_state.decision_client import DecisionSource
    from game_state.room import Room
    from rami_engine import Action
    from rami_kit.metrics import GameMetrics

PAUSES_SECONDS: Final = (0.0, 0.05, 0.2)
"""Before each attempt; as many attempts as pauses may fail."""
BUSY_PAUSES_SECONDS: Final = (0.05, 0.5)
"""The shortest and the longest pause before a service that is busy or away is asked again."""
BOTS_ONLY_PATIENCE: Final = 30
"""How many times longer a table of bots alone waits for a busy service than one with people."""
SHARE_OF_TURN: Final = 3
"""A decision may take this part of the time that people have for a turn: a turn without answers has two of them, the
draw and the discard."""

_PEOPLE: Final = decision_service_pb2.SERVICE_CLASS_PEOPLE
_BOTS_ONLY: Final = decision_service_pb2.SERVICE_CLASS_BOTS_ONLY
_FIELDS: Final = decision_service_pb2.DecideRequest.DESCRIPTOR.fields_by_name
_VIEW: Final = _FIELDS["view"].number
_LEGAL_ACTIONS: Final = _FIELDS["legal_actions"].number

_log = logging.getLogger(__name__)


class Decision(NamedTuple):
    """What a bot does."""

    action: Action
    fallback: bool
    """No usable answer came: the engine's fallback plays."""


class Decider:
    """Decides for bots. One per process."""

    def __init__(
        self,
        roster: BotRoster,
        metrics: GameMetrics,
        policy_key: bytes,
        timeout_seconds: float,
        patience_seconds: float,
    ) -> None:
        """`patience_seconds`: how long the turn of a bot waits for a service that is busy or has just gone away."""
        self._roster = roster
        self._metrics = metrics
        # Copied for each seed: taking in the key is the most of what one costs.
        self._policy_mac = hmac.new(policy_key, digestmod="sha256")
        self._timeout = timeout_seconds
        self._patience = patience_seconds
        self._away_since: dict[DecisionSource, float] = {}
        """When services went away that are: nobody waits for one twice."""

    async def decide(self, room: Room, seat: int, bot: str) -> Decision:
        """The action of a bot in the seat to move. Always legal in the room as it is given."""
        match = room.current_match()
        legal = legal_actions(match, seat)
        request = decision_request(room, seat, legal, bot, self._policy_seed(room, seat))
        limit = room.options.turn_limit_ms
        began = time.monotonic()
        give_up_at = began + limit / 1000 / SHARE_OF_TURN if limit else math.inf
        source = self._roster.source(bot)
        cause, failures = "none", 0
        tried: set[str] = set()
        pause: Backoff | None = None
        while (seconds := min(give_up_at, self._absence_ends(source, began)) - time.monotonic()) > 0:
            seconds = min(seconds, self._timeout)
            asked = time.perf_counter()
            with span("decide", room=room.room_id, bot=bot):
                cause, place, retry_after = await source.ask(request, seconds, tried)
            if place is not None and place >= len(legal):
                cause = "illegal"
            self._metrics.bot_decisions.labels(bot, cause).inc()
            self._note(source, cause)
            if cause == "ok" and place is not None:
                self._metrics.bot_seconds.labels(bot).observe(time.perf_counter() - asked)
                return Decision(legal[place], fallback=False)
            if self._is_waited_for(source, cause, began, room):
                pause = pause or Backoff(*BUSY_PAUSES_SECONDS)
                await asyncio.sleep(max(retry_after, pause.next()))
                continue
            failures += 1
            if failures == len(PAUSES_SECONDS):
                break
            await asyncio.sleep(PAUSES_SECONDS[failures])
        self._metrics.fallbacks.labels(cause).inc()
        _log.warning("a bot gave no usable answer: the fallback plays", extra={"bot": bot, "cause": cause})
        return Decision(fallback_action(seat_view(match, seat)), fallback=True)

    def _note(self, source: DecisionSource, cause: str) -> None:
        """Keep in mind since when a service is away."""
        if cause == "unavailable":
            self._away_since.setdefault(source, time.monotonic())
        elif cause != "deadline_exceeded":  # which one that only begins to come back ends with as well
            self._away_since.pop(source, None)

    def _is_waited_for(self, source: DecisionSource, cause: str, began: float, room: Room) -> bool:
        """Whether a failure that may pass is given time to: one that says so, of a service that is not long away."""
        now = time.monotonic()
        if cause == "resource_exhausted":
            return now - began < self._patience * (1 if room.people() else BOTS_ONLY_PATIENCE)
        away_since = self._away_since.get(source)
        return away_since is not None and now - away_since < self._patience

    def _absence_ends(self, source: DecisionSource, began: float) -> float:
        """When a decision that began at some time is given up because the service is away; never while it is not.

        One that dies and comes back fails in one way after the other, and hangs in between: all of it has one bound.
        """
        away_since = self._away_since.get(source)
        return math.inf if away_since is None else max(began, away_since) + self._patience + self._timeout

    def _policy_seed(self, room: Room, seat: int) -> int:
        """Breaks a bot's ties: the same for the same room, seat and version, and not to be guessed by players."""
        mac = self._policy_mac.copy()
        mac.update(f"{room.room_id}/{seat}/{room.version}".encode())
        return int.from_bytes(mac.digest()[:8])


def decision_request(room: Room, seat: int, legal: Sequence[Action], bot: str, policy_seed: int) -> bytes:
    """The serialized DecideRequest for the seat to move: made of what the seat sees, and nothing else."""
    asked = decision_service_pb2.DecideRequest(
        bot=bot,
        policy_seed=policy_seed,
        service_class=_PEOPLE if room.people() else _BOTS_ONLY,
    )
    view = encode_field(_VIEW, encode_view(seat_view(room.current_match(), seat)))
    return view + encode_actions(legal, _LEGAL_ACTIONS) + asked.SerializeToString()
