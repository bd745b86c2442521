import random
from copy import deepcopy

from rami_engine import (
    CardTrace,
    EndReason,
    Guards,
    MatchState,
    Phase,
    RoundHistory,
    RoundResult,
    RoundState,
    RuleOptions,
    new_match,
)
from unit.engine.positions import play_match, play_random, round_of


def played_match() -> MatchState:
    """A match in its second round or later, in the middle of a turn."""
    match = new_match(3, RuleOptions(target_score=1000), Guards())
    for step in play_match(match, random.Random(3), play_random):
        if round_of(match).number == 2 and round_of(match).melds and step.outcome.drawn is not None:
            break
    return match


def test_a_state_is_equal_to_another_of_the_same_parts() -> None:
    match = played_match()
    current = round_of(match)
    rebuilt = MatchState(
        players=match.players,
        options=RuleOptions(target_score=1000),
        guards=Guards(),
        scores=list(match.scores),
        turns=match.turns,
        phase=Phase(int(match.phase)),
        round=RoundState(
            number=current.number,
            hands=list(current.hands),
            deck=bytes(current.deck),
            stock_pos=current.stock_pos,
            discards=list(current.discards),
            melds=list(current.melds),
            turn=current.turn,
            turns=current.turns,
            history=RoundHistory.from_bytes(current.history.to_bytes()),
        ),
        results=RoundResult(*match.results) if match.results else None,
        winner=match.winner,
    )
    assert rebuilt == match
    assert rebuilt.results is not None


def test_a_copy_is_equal_and_independent() -> None:
    match = played_match()
    copied = match.copy()
    assert copied == match
    untouched = deepcopy(match)
    current = round_of(copied)
    copied.scores[0] += 1
    current.hands[0] ^= 1
    current.discards.append(0)
    current.melds.append(0)
    current.history.record_discard(0, seat=0, turn=99)
    assert copied != match
    assert match == untouched


def test_a_state_differs_when_any_part_of_it_does() -> None:
    match = played_match()
    for change in (
        lambda other: other.scores.__setitem__(1, 999),
        lambda other: setattr(other, "phase", Phase.DRAW),
        lambda other: setattr(other, "turns", 999),
        lambda other: setattr(other, "winner", 1),
        lambda other: setattr(other, "results", None),
        lambda other: setattr(other, "guards", Guards(1, 1)),
        lambda other: setattr(other.round, "turn", 9),
        lambda other: setattr(other.round, "turns", 999),
        lambda other: setattr(other.round, "stock_pos", 52),
        lambda other: setattr(other.round, "deck", bytes(52)),
        lambda other: setattr(other.round, "number", 9),
        lambda other: other.round.history.by_card.__setitem__(3, CardTrace(3, passed_by=1, passed_turn=9)),
    ):
        other = match.copy()
        change(other)
        assert other != match


def test_the_text_of_a_state_names_no_card() -> None:
    match = played_match()
    for state in (match, round_of(match)):
        assert repr(state).startswith(f"<{type(state).__name__} ")
        for hidden in (*round_of(match).hands, round_of(match).deck):
            assert repr(hidden) not in repr(state)
    assert "phase=PLAY" in repr(match)
    assert "scores=" in repr(match)


def test_end_reasons_keep_their_numbers() -> None:
    assert [(reason.name, int(reason)) for reason in EndReason] == [
        ("WENT_OUT", 1),
        ("STOCK_EXHAUSTED", 2),
        ("TURN_LIMIT", 3),
    ]
    assert [(phase.name, int(phase)) for phase in Phase] == [
        ("NOT_STARTED", 0),
        ("DRAW", 1),
        ("PLAY", 2),
        ("ROUND_OVER", 3),
        ("MATCH_OVER", 4),
    ]
