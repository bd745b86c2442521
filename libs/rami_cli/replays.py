"""`rami replay` and `rami verify`: reading a match that was played, and proving that it was played fairly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from rami.game.v1 import event_pb2, rules_pb2
from rami_cli.drawing import draw_cards, draw_change
from rami_client import Receipt, load_replay, verify, walk
from rami_engine import cards_of
from rami_wire import action_to_proto, replay_record, result_to_proto
from rami_wire.cards import WIRE_CARDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rami.game.v1 import game_service_pb2 as game
    from rami_client import Moment, Verification


def verify_files(replay_path: Path, receipt_path: Path | None) -> Verification:
    """Checks a replay file, against a receipt file if there is one. Raises ReplayError, BadFileError and OSError."""
    receipt = Receipt.load(receipt_path) if receipt_path is not None else None
    return verify(load_replay(replay_path), receipt)


def replay_names(replay: game.GetReplayResponse) -> list[str]:
    """The name of every seat."""
    return [
        seat.player.display_name if seat.HasField("player") else f"{seat.bot.bot.title()} {seat.seat + 1}"
        for seat in replay.header.seats
    ]


def replay_steps(replay: game.GetReplayResponse) -> Iterator[list[Text]]:
    """The lines of every deal and action of a replay that has been verified, with all hands face up."""
    names = replay_names(replay)
    for moment in walk(replay_record(replay.header, replay.rounds)):
        lines = [line for change in _changes(moment) if (line := draw_change(change, names)) is not None]
        current = moment.match.round
        assert current is not None, "a walk begins with a deal"
        if moment.outcome is None or moment.outcome.round_end is not None:
            for name, hand in zip(names, current.hands, strict=True):
                lines.append(Text.assemble((f"    {name:<18}", "dim"), draw_cards(hand)))
        yield lines


def _changes(moment: Moment) -> Iterator[event_pb2.Change]:
    """A moment as the events of the contract, so that it reads like a match that is watched."""
    current, outcome = moment.match.round, moment.outcome
    assert current is not None, "a walk begins with a deal"
    if outcome is None:
        yield event_pb2.Change(
            round_started=event_pb2.RoundStarted(
                round_number=current.number,
                starting_seat=current.turn,
                up_card=WIRE_CARDS[current.discards[0]],
                hand_size=len(cards_of(current.hands[0])),
                stock_size=current.stock_count,
            )
        )
        return
    played = event_pb2.ActionPlayed(seat=outcome.seat, action=action_to_proto(outcome.action))
    if outcome.drawn is not None:
        played.drawn = WIRE_CARDS[outcome.drawn]
    yield event_pb2.Change(action_played=played)
    if outcome.round_end is not None:
        yield event_pb2.Change(round_ended=event_pb2.RoundEnded(result=result_to_proto(outcome.round_end)))
    if outcome.match_end is not None:
        result = rules_pb2.MatchResult(winner_seat=outcome.match_end.winner, scores=outcome.match_end.scores)
        yield event_pb2.Change(match_ended=event_pb2.MatchEnded(result=result))
