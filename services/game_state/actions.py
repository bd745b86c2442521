"""Playing an action for a person, by a unary call or on a stream: the same judgement, memory and metrics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from game_state import match
from game_state.projection import encoded_legal_actions
from game_state.requests import request_key
from rami_engine import IllegalAction, MalformedAction, RulesError
from rami_kit.errors import RamiError, from_engine_error, reason_name, reasons
from rami_kit.request_ids import require_request_id
from rami_wire import action_from_proto, encode_action

if TYPE_CHECKING:
    from game_state.changes import Changed, RoomChanger
    from game_state.draft import Draft
    from game_state.room import Room
    from rami.game.v1 import action_pb2
    from rami_kit.metrics import GameMetrics


class ActionPlayer:
    """Judges and commits the actions of people."""

    def __init__(self, changer: RoomChanger, metrics: GameMetrics) -> None:
        self._changer = changer
        self._actions = metrics.actions
        self._seconds = metrics.action_seconds.labels()

    async def play(
        self, room_id: str, player_id: str, request_id: str, expected_version: int, message: action_pb2.Action
    ) -> Changed[None]:
        """Play an action once, however often it is asked for.

        Raises what the contract names for SubmitAction; a refused action has changed nothing.
        """
        began = time.perf_counter()
        request_id = require_request_id(request_id)
        kind = message.WhichOneof("kind") or "none"
        try:
            action = action_from_proto(message)
            payload = b"%d %s" % (expected_version, encode_action(action))

            def judge(draft: Draft) -> None:
                match.play_for_player(draft, player_id, expected_version, action)

            changed = await self._changer.change(room_id, judge, request_key(player_id, request_id, payload))
        except (RamiError, RulesError) as error:
            refusal = as_rami_error(error)
            self._actions.labels(kind, "player", reason_name(refusal.reason)).inc()
            raise refusal from None
        except Exception:
            self._actions.labels(kind, "player", reason_name(reasons.ERROR_REASON_INTERNAL)).inc()
            raise
        if not changed.repeat:
            self._seconds.observe(time.perf_counter() - began)
        self._actions.labels(kind, "player", "repeat" if changed.repeat else "ok").inc()
        return changed


def as_rami_error(error: RamiError | RulesError) -> RamiError:
    """The engine's refusals as errors of the contract. Anything else that the engine raises is a defect."""
    if isinstance(error, RamiError):
        return error
    if isinstance(error, IllegalAction | MalformedAction):
        return from_engine_error(error)
    raise error


def next_legal_actions(room: Room, seat: int, version: int) -> bytes | None:
    """The encoded legal actions of a seat, if it is to move in that version and the room stands there."""
    if room.version != version or room.turn_seat() != seat:
        return None
    return encoded_legal_actions(room, seat)
