"""The record of a match, read from the room's log.

Holds actions, never drawn cards: with the seed of a round its deck and every draw follow, and the seed is revealed
when the round ends. Paged by rounds; a page token names the step at which the next round was dealt, so a page costs
what its rounds cost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from game_state.projection import match_result_message, seat_to_proto, timestamp
from game_state.steps import Dealt, Played
from rami.game.v1 import event_pb2, game_service_pb2, replay_pb2
from rami_engine import RULES_ID, RULES_VERSION
from rami_kit.errors import reasons, refused
from rami_kit.paging import wrong_page_token
from rami_wire import action_to_proto, guards_to_proto, options_to_proto

if TYPE_CHECKING:
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from game_state.steps import Public, Step

STEPS_READ_AT_ONCE: Final = 500
ROUNDS_READ_AT_ONCE: Final = 100
MAX_ACTIONS_PER_PAGE: Final = 20_000
"""A page ends with the round that reaches this, so that it stays far below the size limit of a message."""


class _Page(NamedTuple):
    rounds: list[replay_pb2.ReplayRound]
    next_version: int | None
    """The step that dealt the next round; None when there is none."""


async def replay_page(
    repository: RoomRepository, room: Room, most_rounds: int, page_token: str
) -> game_service_pb2.GetReplayResponse:
    """A page of the record. Raises MATCH_NOT_STARTED, and InvalidRequest for a token that no page gave."""
    if room.match is None:
        raise refused(reasons.ERROR_REASON_MATCH_NOT_STARTED, "the match has not begun", room_id=room.room_id)
    page = await _read_rounds(repository, room, _first_version(page_token, room), most_rounds)
    return game_service_pb2.GetReplayResponse(
        header=_header(room),
        rounds=page.rounds,
        next_page_token="" if page.next_version is None else str(page.next_version),
    )


async def whole_replay(repository: RoomRepository, room: Room) -> game_service_pb2.GetReplayResponse:
    """The whole record in one message. Raises MATCH_NOT_STARTED."""
    whole = await replay_page(repository, room, ROUNDS_READ_AT_ONCE, "")
    while whole.next_page_token:
        page = await replay_page(repository, room, ROUNDS_READ_AT_ONCE, whole.next_page_token)
        whole.rounds.extend(page.rounds)
        whole.next_page_token = page.next_page_token
    return whole


def _first_version(page_token: str, room: Room) -> int:
    if not page_token:
        return 1
    if not (page_token.isascii() and page_token.isdigit() and len(page_token) < 20):
        raise wrong_page_token()
    version = int(page_token)
    if not 1 <= version <= room.version:
        raise wrong_page_token()
    return version


def _header(room: Room) -> replay_pb2.ReplayHeader:
    return replay_pb2.ReplayHeader(
        room_id=room.room_id,
        rules_id=RULES_ID,
        rules_version=RULES_VERSION,
        options=options_to_proto(room.options.rules),
        guards=guards_to_proto(room.guards),
        # Who has been away since is no part of the record.
        seats=[seat_to_proto(number, replace(seat, missed=0, left=False)) for number, seat in enumerate(room.seats)],
        commitment=room.commitment,
        entropies=[seat.entropy for seat in room.seats],
        start_time=timestamp(room.start_ms),
        result=match_result_message(room),
    )


async def _read_rounds(repository: RoomRepository, room: Room, first: int, most_rounds: int) -> _Page:
    """The rounds dealt from a version on, up to the version of the room as it was read."""
    rounds: list[replay_pb2.ReplayRound] = []
    actions = 0
    while first <= room.version:
        steps = await repository.log(room.room_id, first, room.version, STEPS_READ_AT_ONCE)
        if not steps:
            break
        for version, step in steps:
            for change in step.changes:
                if isinstance(change, Dealt):
                    if len(rounds) >= most_rounds or actions >= MAX_ACTIONS_PER_PAGE:
                        return _Page(rounds, version)
                    rounds.append(replay_pb2.ReplayRound(round_number=change.number))
                elif not rounds:
                    continue
                elif isinstance(change, Played):
                    rounds[-1].actions.append(_action(version, step, change))
                    actions += 1
                else:
                    _take_public(rounds[-1], change)
        first = steps[-1][0] + 1
    return _Page(rounds, None)


def _action(version: int, step: Step, played: Played) -> replay_pb2.ReplayAction:
    return replay_pb2.ReplayAction(
        seat=played.seat,
        action=action_to_proto(played.action),
        source=played.source,
        version=version,
        time=timestamp(step.time_ms),
    )


def _take_public(current: replay_pb2.ReplayRound, change: Public) -> None:
    """What a public change reveals of the current round: its result and seed."""
    told = event_pb2.Change.FromString(change.encoded)
    kind = told.WhichOneof("kind")
    if kind == "round_ended":
        current.result.CopyFrom(told.round_ended.result)
        current.seed = told.round_ended.seed
    elif kind == "match_ended" and told.match_ended.seed:
        current.seed = told.match_ended.seed
