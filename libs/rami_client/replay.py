"""Replay files, and checking a replay from its commitment to its winner.

A replay file holds one rami.game.v1.GetReplayResponse with all rounds and no page token, as protobuf JSON:
every language with the contract's messages reads it, and so does the eye. `verify` trusts nothing in it:
what follows from the seeds and the actions is computed anew, and with a receipt it must also be the match
that the player saw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from google.protobuf import json_format

from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import rules_pb2
from rami_client.errors import BadFileError, json_complaint
from rami_client.receipt_check import Coverage, check_receipt
from rami_engine import (
    RULES_ID,
    RULES_VERSION,
    MalformedAction,
    OptionsError,
    ReplayError,
    ReplayPlace,
    VerifiedReplay,
    verify_replay,
)
from rami_wire import action_from_proto, replay_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rami.game.v1 import replay_pb2
    from rami_client.receipt import Receipt


class Verification(NamedTuple):
    """What a check has proved."""

    replay: VerifiedReplay
    coverage: Coverage | None
    """What of the match the receipt has seen, all of which agrees; None without a receipt."""

    @property
    def sightings(self) -> int | None:
        """How many steps of the receipt agree with the replay; None without a receipt."""
        return self.coverage.sightings if self.coverage is not None else None


def save_replay(path: Path, replay: game.GetReplayResponse) -> None:
    """Writes a replay file. Raises OSError.

    >>> save_replay(folder / "match.json", await client.replay(finished))
    """
    path.write_text(json_format.MessageToJson(replay, indent=1) + "\n", encoding="utf-8")


def load_replay(path: Path) -> game.GetReplayResponse:
    """Reads a replay file. Raises BadFileError for a file that is none, and OSError.

    >>> save_replay(folder / "match.json", await client.replay(finished))
    >>> load_replay(folder / "match.json").header.room_id == finished
    True
    """
    try:
        replay = json_format.Parse(path.read_text(encoding="utf-8"), game.GetReplayResponse())
    except UnicodeDecodeError as error:
        raise BadFileError(path, "is no replay: it is no text") from error
    except json_format.ParseError as error:
        raise BadFileError(path, f"is no replay: {json_complaint(error)}") from error
    if not replay.HasField("header"):
        raise BadFileError(path, "is no replay: it has no header")
    return replay


def verify(replay: game.GetReplayResponse, receipt: Receipt | None = None) -> Verification:
    """Checks a replay, against a receipt where there is one. Raises ReplayError at the first place that is
    wrong.

    >>> replay = await client.replay(finished)
    >>> verify(replay).replay.rounds == len(replay.rounds)
    True
    >>> replay.header.commitment = bytes(32)
    >>> verify(replay)
    Traceback (most recent call last):
    rami_engine.errors.ReplayError: round 1: its seed does not hash to the one before it
    """
    header = replay.header
    _check_header(replay)
    _check_actions(replay)
    try:
        record = replay_record(header, replay.rounds)
    except OptionsError as error:
        raise ReplayError(ReplayPlace(), str(error)) from error
    verified = verify_replay(record)
    if header.HasField("result"):
        _check_result(header, verified)
    _check_versions(replay)
    return Verification(verified, check_receipt(replay, record, receipt) if receipt is not None else None)


def _check_header(replay: game.GetReplayResponse) -> None:
    header = replay.header
    if (header.rules_id, header.rules_version) != (RULES_ID, RULES_VERSION):
        raise ReplayError(
            ReplayPlace(),
            f"was played by {header.rules_id} {header.rules_version}, "
            f"and this program checks {RULES_ID} {RULES_VERSION}",
        )
    if replay.next_page_token:
        raise ReplayError(ReplayPlace(), "is one page of a longer record")
    if [seat.seat for seat in header.seats] != list(range(len(header.seats))):
        raise ReplayError(ReplayPlace(), "its seats are not numbered in order")


def _check_actions(replay: game.GetReplayResponse) -> None:
    """Each action makes sense by itself."""
    for place, action in _actions(replay):
        try:
            action_from_proto(action.action)
        except MalformedAction as error:
            raise ReplayError(place, str(error)) from error


def _check_versions(replay: game.GetReplayResponse) -> None:
    """Each action comes in a step of the room after the one before it."""
    version = 1
    for place, action in _actions(replay):
        if action.version < version:
            raise ReplayError(place, f"its version {action.version} does not follow {version}")
        version = action.version


def _actions(replay: game.GetReplayResponse) -> Iterator[tuple[ReplayPlace, replay_pb2.ReplayAction]]:
    for played in replay.rounds:
        for number, action in enumerate(played.actions, 1):
            yield ReplayPlace(played.round_number, number), action


def _check_result(header: replay_pb2.ReplayHeader, verified: VerifiedReplay) -> None:
    result = header.result
    if tuple(result.scores) != verified.scores:
        raise ReplayError(
            ReplayPlace(),
            f"its scores should be {_listed(verified.scores)} by its actions, and {_listed(result.scores)} is recorded",
        )
    if result.reason == rules_pb2.MATCH_END_REASON_ABANDONED:
        return
    if verified.winner is None:
        raise ReplayError(ReplayPlace(), "is recorded as decided, but its rounds decide nothing")
    decided = verified.scores[verified.winner] >= header.options.target_score
    if result.reason != (rules_pb2.MATCH_END_REASON_TARGET_SCORE if decided else rules_pb2.MATCH_END_REASON_TURN_LIMIT):
        raise ReplayError(ReplayPlace(), "the reason of its end is not the one recorded")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)
