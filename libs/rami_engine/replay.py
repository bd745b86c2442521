"""Checking a recorded match: its seeds, its decks, every action, every result.

Source: the rule sheet, section "Provably fair shuffle". A record is trusted in nothing: each seed must hash
to the one before it, from the commitment on; each deck is made anew from its seed and the entropies; each
action is played by the rules; and the recorded results must be those that follow. The first place where that
fails is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rami_engine.errors import OptionsError, ReplayError, ReplayPlace, RulesError
from rami_engine.match import apply, new_match, start_round
from rami_engine.shuffle import MAX_ENTROPY_SIZE, SEED_SIZE, deck_for_round, verify_link
from rami_engine.state import EndReason, MatchState, Phase, RoundResult

if TYPE_CHECKING:
    from rami_engine.actions import Action
    from rami_engine.rules import Guards, RuleOptions


@dataclass(frozen=True, slots=True)
class ReplayRound:
    """A round as it was recorded."""

    number: int
    """Rounds count from 1."""
    seed: bytes | None
    """Revealed when the round ended or the match was abandoned in it; None while it is in play."""
    actions: tuple[tuple[int, Action], ...]
    """Every accepted action with the seat that played it, in order."""
    result: RoundResult | None
    """None for a round that did not end."""


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A match as it was recorded, over or not."""

    players: int
    options: RuleOptions
    guards: Guards
    commitment: bytes
    """The seed of round 0, published before any entropy was accepted."""
    entropies: tuple[bytes, ...]
    """By seat; empty for a seat that brought none."""
    rounds: tuple[ReplayRound, ...]
    winner: int | None
    """None for a match without an end."""
    abandoned: bool
    """Whether the match was given up before its end."""


@dataclass(frozen=True, slots=True)
class VerifiedReplay:
    """What a checked record proves."""

    rounds: int
    """Number of rounds whose seed, deck, actions and result were checked."""
    actions: int
    """Number of actions that were played anew."""
    scores: tuple[int, ...]
    """By seat, after the last checked action."""
    winner: int | None
    unchecked_round: int | None
    """Number of the round in play, whose seed is not revealed yet and whose actions so cannot be played."""


def verify_replay(record: ReplayRecord) -> VerifiedReplay:
    """Check a record from its commitment to its winner. Raises ReplayError at the first place that is
    wrong.
    """
    match = _set_up(record)
    previous = record.commitment
    actions = 0
    unchecked: int | None = None
    for number, played in enumerate(record.rounds, 1):
        is_last = number == len(record.rounds)
        if played.number != number:
            raise ReplayError(ReplayPlace(number), f"is recorded as round {played.number}")
        if played.seed is None:
            _require_in_play(record, played, is_last=is_last)
            unchecked = number
            break
        _replay_round(match, record, played, previous)
        if played.result is None and not is_last:
            raise ReplayError(ReplayPlace(number), "did not end, but another round follows")
        previous = played.seed
        actions += len(played.actions)
    if record.winner != match.winner:
        raise ReplayError(
            ReplayPlace(), f"the winner is {_seat(match.winner)} by its actions, and {_seat(record.winner)} is recorded"
        )
    if record.abandoned and match.winner is not None:
        raise ReplayError(ReplayPlace(), "is marked as abandoned, but the match was decided")
    checked = len(record.rounds) - (unchecked is not None)
    return VerifiedReplay(checked, actions, tuple(match.scores), match.winner, unchecked)


def _set_up(record: ReplayRecord) -> MatchState:
    """The match before its first deal; checks what belongs to no round."""
    place = ReplayPlace()
    try:
        match = new_match(record.players, record.options, record.guards)
    except OptionsError as error:
        raise ReplayError(place, str(error)) from error
    if len(record.commitment) != SEED_SIZE:
        raise ReplayError(place, f"the commitment has {len(record.commitment)} bytes, not {SEED_SIZE}")
    if len(record.entropies) != record.players:
        raise ReplayError(place, f"{len(record.entropies)} entropies for {record.players} seats")
    if any(len(entropy) > MAX_ENTROPY_SIZE for entropy in record.entropies):
        raise ReplayError(place, f"an entropy is longer than {MAX_ENTROPY_SIZE} bytes")
    return match


def _require_in_play(record: ReplayRecord, played: ReplayRound, *, is_last: bool) -> None:
    """A round without a seed can only be the one that is being played."""
    if played.result is not None or record.abandoned or not is_last:
        raise ReplayError(ReplayPlace(played.number), "is not in play any more, but its seed is missing")


def _replay_round(match: MatchState, record: ReplayRecord, played: ReplayRound, previous: bytes) -> None:
    place = ReplayPlace(played.number)
    seed = played.seed
    assert seed is not None, "rounds without a seed are not replayed"
    if not verify_link(seed, previous):
        raise ReplayError(place, "its seed does not hash to the one before it")
    try:
        start_round(match, deck_for_round(seed, played.number, record.entropies))
    except RulesError as error:
        raise ReplayError(place, f"cannot be dealt: {error}") from error
    for number, (seat, action) in enumerate(played.actions, 1):
        try:
            apply(match, seat, action)
        except RulesError as error:
            raise ReplayError(ReplayPlace(played.number, number), f"cannot be played: {error}") from error
    ended = match.phase in (Phase.ROUND_OVER, Phase.MATCH_OVER)
    _require_same_result(place, played.result, match.results if ended else None)


def _require_same_result(place: ReplayPlace, recorded: RoundResult | None, replayed: RoundResult | None) -> None:
    if recorded == replayed:
        return
    if replayed is None:
        raise ReplayError(place, "is recorded as ended, but its actions do not end it")
    if recorded is None:
        raise ReplayError(place, "ended by its actions, but no result is recorded")
    name, is_value, value = next(
        part for part in zip(RoundResult._fields, recorded, replayed, strict=True) if part[1] != part[2]
    )
    raise ReplayError(
        place,
        f"its {name.replace('_', ' ')} should be {_in_words(name, value)} by its actions, "
        f"and {_in_words(name, is_value)} is recorded",
    )


def _in_words(name: str, value: object) -> str:
    """A part of a result for whoever reads the error."""
    match value:
        case EndReason():
            return value.name.lower().replace("_", " ")
        case tuple():
            return ", ".join(str(number) for number in value)
        case int() if name == "winner":
            return _seat(value)
        case _:
            return str(value)


def _seat(seat: int | None) -> str:
    return "nobody" if seat is None else f"seat {seat}"
