import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from rami_engine import (
    FULL_DECK,
    Action,
    ActionKind,
    Guards,
    Phase,
    ReplayError,
    ReplayRecord,
    ReplayRound,
    RoundResult,
    RuleOptions,
    apply,
    cards_of,
    commitment,
    deck_for_round,
    discard_action,
    legal_actions,
    new_match,
    parse_action,
    seed_for_round,
    start_round,
    verify_replay,
)
from unit.engine.positions import play_greedy, round_of

ROOT = bytes(range(32))
ENTROPIES = (b"", b"fresh", bytes(32))


def recorded_match(target_score: int = 150) -> ReplayRecord:
    """A seeded match of three, as a service would record it."""
    rng = random.Random(1)
    match = new_match(3, RuleOptions(target_score=target_score), Guards())
    rounds: list[ReplayRound] = []
    while match.phase != Phase.MATCH_OVER:
        number = len(rounds) + 1
        seed = seed_for_round(ROOT, number)
        start_round(match, deck_for_round(seed, number, ENTROPIES))
        actions: list[tuple[int, Action]] = []
        result = None
        while result is None:
            seat = round_of(match).turn
            action = play_greedy(rng, legal_actions(match, seat))
            actions.append((seat, action))
            result = apply(match, seat, action).round_end
        rounds.append(ReplayRound(number, seed, tuple(actions), result))
    return ReplayRecord(
        players=3,
        options=match.options,
        guards=match.guards,
        commitment=commitment(ROOT),
        entropies=ENTROPIES,
        rounds=tuple(rounds),
        winner=match.winner,
        abandoned=False,
    )


RECORD = recorded_match()
LAST = len(RECORD.rounds)


def with_round(record: ReplayRecord, number: int, **changes: object) -> ReplayRecord:
    rounds = list(record.rounds)
    rounds[number - 1] = replace(rounds[number - 1], **changes)  # type: ignore[arg-type]  # any field of a round
    return replace(record, rounds=tuple(rounds))


def with_actions(number: int, change: Callable[[list[tuple[int, Action]]], object]) -> ReplayRecord:
    actions = list(RECORD.rounds[number - 1].actions)
    change(actions)
    return with_round(RECORD, number, actions=tuple(actions))


def in_play() -> ReplayRecord:
    """The record while its last round is played: without its seed, its end and a winner."""
    played = RECORD.rounds[-1]
    return replace(with_round(RECORD, LAST, seed=None, actions=played.actions[:5], result=None), winner=None)


def abandoned() -> ReplayRecord:
    """The record of a match abandoned in its last round: with its seed, but without an end."""
    played = RECORD.rounds[-1]
    return replace(with_round(RECORD, LAST, actions=played.actions[:5], result=None), winner=None, abandoned=True)


def place_of_error(record: ReplayRecord) -> str:
    with pytest.raises(ReplayError) as wrong:
        verify_replay(record)
    assert str(wrong.value) == f"{wrong.value.place}: {wrong.value.description}"
    return str(wrong.value.place)


def test_an_honest_record_is_proved() -> None:
    assert LAST >= 3
    verified = verify_replay(RECORD)
    result = RECORD.rounds[-1].result
    assert result is not None
    assert verified.rounds == LAST
    assert verified.actions == sum(len(played.actions) for played in RECORD.rounds)
    assert verified.scores == result.scores
    assert verified.winner == RECORD.winner == result.winner
    assert verified.unchecked_round is None


def test_a_round_in_play_is_reported_as_unchecked() -> None:
    verified = verify_replay(in_play())
    before = RECORD.rounds[-2].result
    assert before is not None
    assert verified.unchecked_round == LAST
    assert verified.rounds == LAST - 1
    assert (verified.scores, verified.winner) == (before.scores, None)


def test_a_match_between_two_rounds_or_before_the_first_is_proved() -> None:
    for rounds in (RECORD.rounds[:-1], ()):
        verified = verify_replay(replace(RECORD, rounds=rounds, winner=None))
        assert (verified.rounds, verified.unchecked_round, verified.winner) == (len(rounds), None, None)


def test_an_abandoned_match_is_proved_up_to_its_last_action() -> None:
    verified = verify_replay(abandoned())
    assert verified.rounds == LAST
    assert verified.actions == sum(len(played.actions) for played in RECORD.rounds[:-1]) + 5
    assert verified.winner is None


def flip(seed: bytes) -> bytes:
    return bytes([seed[0] ^ 1]) + seed[1:]


def seed_of(number: int) -> bytes:
    seed = RECORD.rounds[number - 1].seed
    assert seed is not None
    return seed


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (replace(RECORD, commitment=flip(RECORD.commitment)), "round 1"),
        (with_round(RECORD, 2, seed=flip(seed_of(2))), "round 2"),
        (with_round(RECORD, 2, seed=seed_of(3)), "round 2"),
        (with_round(RECORD, 2, seed=seed_of(2)[:31]), "round 2"),
        (replace(RECORD, commitment=b"short"), "record"),
        (replace(RECORD, players=5), "record"),
        (replace(RECORD, entropies=ENTROPIES[:2]), "record"),
        (replace(RECORD, entropies=(bytes(33), b"", b"")), "record"),
        (replace(RECORD, rounds=RECORD.rounds[1:]), "round 1"),
        (replace(RECORD, rounds=(*RECORD.rounds[:1], *RECORD.rounds[2:])), "round 2"),
        (replace(RECORD, rounds=(RECORD.rounds[1], RECORD.rounds[0], *RECORD.rounds[2:])), "round 1"),
        (with_round(RECORD, 1, seed=None), "round 1"),
        (with_round(RECORD, 1, seed=None, result=None), "round 1"),
        (with_round(RECORD, LAST, seed=None), f"round {LAST}"),
        (with_round(abandoned(), LAST, seed=None), f"round {LAST}"),
        (replace(RECORD, winner=(RECORD.winner or 0) + 1), "record"),
        (replace(RECORD, winner=None), "record"),
        (replace(in_play(), winner=0), "record"),
        (replace(RECORD, abandoned=True), "record"),
    ],
    ids=[
        "commitment",
        "seed",
        "seed of another round",
        "seed cut short",
        "commitment cut short",
        "player count",
        "entropy missing",
        "entropy too long",
        "first round missing",
        "round missing",
        "rounds in another order",
        "seed of a finished round missing",
        "round without an end in the middle",
        "seed of the last round missing",
        "seed of an abandoned round missing",
        "winner",
        "winner missing",
        "winner of a match in play",
        "decided match marked as abandoned",
    ],
)
def test_a_tampered_record_is_caught_where_it_is_wrong(record: ReplayRecord, place: str) -> None:
    assert place_of_error(record) == place


def test_another_entropy_deals_other_cards() -> None:
    other = replace(RECORD, entropies=(b"", b"stale", bytes(32)))
    assert place_of_error(other).startswith("round 1")


def test_an_action_that_cannot_be_played_is_named() -> None:
    first_seat, first_action = RECORD.rounds[1].actions[0]
    tampered = [
        (with_actions(2, lambda actions: actions.insert(1, (first_seat, first_action))), 2),
        (with_actions(2, lambda actions: actions.__setitem__(0, (first_seat + 1, first_action))), 1),
        (with_actions(2, lambda actions: actions.__setitem__(0, (first_seat, parse_action("discard 2C")))), 1),
        (with_actions(2, lambda actions: actions.__setitem__(0, actions[1])), 1),
        (with_actions(2, lambda actions: actions.__delitem__(0)), 1),
        (with_actions(2, lambda actions: actions.append(actions[-1])), len(RECORD.rounds[1].actions) + 1),
        (with_actions(2, lambda actions: actions.__setitem__(0, (first_seat, Action(first_action.kind, 1)))), 1),
    ]
    for record, number in tampered:
        assert place_of_error(record) == f"round 2, action {number}"


def test_a_discarded_card_cannot_be_exchanged_for_one_that_was_not_held() -> None:
    match = new_match(3, RECORD.options, RECORD.guards)
    start_round(match, deck_for_round(seed_of(1), 1, ENTROPIES))
    for number, (seat, action) in enumerate(RECORD.rounds[0].actions, 1):
        if action.kind == ActionKind.DISCARD:
            never_held = discard_action(cards_of(FULL_DECK & ~round_of(match).hands[seat])[0])
            actions = list(RECORD.rounds[0].actions)
            actions[number - 1] = (seat, never_held)
            assert place_of_error(with_round(RECORD, 1, actions=tuple(actions))) == f"round 1, action {number}"
        apply(match, seat, action)


def test_actions_that_do_not_end_a_round_are_caught() -> None:
    assert place_of_error(with_actions(2, lambda actions: actions.pop())) == "round 2"
    last_without_end = with_round(RECORD, LAST, result=None)
    assert place_of_error(last_without_end) == f"round {LAST}"


def test_a_round_without_an_end_is_the_last() -> None:
    stopped = with_round(RECORD, 1, actions=RECORD.rounds[0].actions[:4], result=None)
    assert place_of_error(stopped) == "round 1"


def test_a_round_after_the_end_of_the_match_is_caught() -> None:
    extra = ReplayRound(LAST + 1, seed_for_round(ROOT, LAST + 1), (), None)
    assert place_of_error(replace(RECORD, rounds=(*RECORD.rounds, extra))) == f"round {LAST + 1}"


@pytest.mark.parametrize("field", ["number", "reason", "winner", "points", "hand_points", "scores"])
def test_every_part_of_a_result_is_compared(field: str) -> None:
    result = RECORD.rounds[1].result
    assert result is not None
    honest = getattr(result, field)
    wrong = tuple(part + 1 for part in honest) if isinstance(honest, tuple) else honest % 3 + 1
    tampered = with_round(RECORD, 2, result=RoundResult(**(result._asdict() | {field: wrong})))
    assert place_of_error(tampered) == "round 2"
    with pytest.raises(ReplayError, match=f"its {field.replace('_', ' ')} should be [^<>()]+ is recorded$"):
        verify_replay(tampered)
