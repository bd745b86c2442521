import pytest

from rami_engine import CardTrace, HistoryError, Phase, RoundHistory, apply, parse_action, parse_card
from unit.engine.positions import position, round_of


def traced(*turns: tuple[int, str]) -> RoundHistory:
    """The history after these actions, beginning with seat 0 of three."""
    match = position("5H 6H 7H 2C 3S", "KC KD 9S", "AC AD 8H", phase=Phase.DRAW, discards="2D", stock="QS JS TS")
    for seat, texts in turns:
        for text in texts.split(", "):
            apply(match, seat, parse_action(text))
    return round_of(match).history


def test_a_deal_leaves_no_history() -> None:
    history = traced()
    assert history == RoundHistory()
    assert history.traces() == ()
    assert history.trace(7) == CardTrace(7)


def test_a_card_passed_over_and_a_discard() -> None:
    assert traced((0, "stock, discard 2C")).traces() == (
        CardTrace(parse_card("2C"), discarded_by=0, discarded_turn=1),
        CardTrace(parse_card("2D"), passed_by=0b001, passed_turn=1),
    )


def test_a_card_taken_and_given_back_keeps_both_events() -> None:
    history = traced((0, "discard-pile, discard 2D"), (1, "stock, discard KC"), (2, "discard-pile, discard KC"))
    assert history.trace(parse_card("2D")) == CardTrace(
        parse_card("2D"),
        discarded_by=0,
        discarded_turn=1,
        taken_by=0,
        taken_turn=1,
        passed_by=0b010,
        passed_turn=2,
    )
    assert history.trace(parse_card("KC")) == CardTrace(
        parse_card("KC"), discarded_by=2, discarded_turn=3, taken_by=2, taken_turn=3
    )


def test_seats_that_passed_a_card_over_add_up_and_the_latest_turn_counts() -> None:
    history = traced((0, "stock, discard 3S"), (1, "discard-pile, discard 3S"), (2, "stock"))
    assert history.trace(parse_card("2D")).passed_by == 0b001
    assert history.trace(parse_card("3S")) == CardTrace(
        parse_card("3S"),
        discarded_by=1,
        discarded_turn=2,
        taken_by=1,
        taken_turn=2,
        passed_by=0b100,
        passed_turn=3,
    )


def test_every_card_laid_is_traced_by_meld_and_by_lay_off() -> None:
    history = traced((0, "stock, meld 5H 6H 7H, discard 2C"), (1, "stock, discard KC"), (2, "stock, lay-off 1 8H"))
    assert [history.trace(parse_card(text)) for text in ("5H", "6H", "7H", "8H")] == [
        CardTrace(parse_card("5H"), laid_by=0, laid_turn=1),
        CardTrace(parse_card("6H"), laid_by=0, laid_turn=1),
        CardTrace(parse_card("7H"), laid_by=0, laid_turn=1),
        CardTrace(parse_card("8H"), laid_by=2, laid_turn=3),
    ]


def test_asking_the_empty_stock_passes_nothing_over() -> None:
    match = position("5H 6H", "KC", phase=Phase.DRAW, discards="2D", stock="")
    apply(match, 0, parse_action("stock"))
    assert round_of(match).history == RoundHistory()


def test_copies_are_independent() -> None:
    history = traced((0, "stock, discard 2C"))
    copied = history.copy()
    encoded = history.to_bytes()
    copied.record_taking(parse_card("2C"), seat=1, turn=2)
    assert copied != history
    assert history.to_bytes() == encoded
    assert copied.to_bytes() != encoded
    assert history.to_bytes() == encoded


FULL = CardTrace(
    51,
    discarded_by=3,
    discarded_turn=400,
    taken_by=0,
    taken_turn=127,
    laid_by=2,
    laid_turn=128,
    passed_by=0b1111,
    passed_turn=10_000,
)


def test_a_history_is_read_back_from_its_bytes() -> None:
    history = RoundHistory({51: FULL, 0: CardTrace(0, discarded_by=0, discarded_turn=1)})
    encoded = history.to_bytes()
    assert RoundHistory.from_bytes(encoded) == history
    assert RoundHistory.from_bytes(encoded).traces() == history.traces()
    assert RoundHistory.from_bytes(b"") == RoundHistory()
    assert len(encoded) == 4 + 10


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_history_cut_short_is_refused(cut: int) -> None:
    encoded = RoundHistory({51: FULL, 0: CardTrace(0, discarded_by=0, discarded_turn=1)}).to_bytes()
    if cut == 4:
        assert RoundHistory.from_bytes(encoded[:cut]).traces() == (CardTrace(0, discarded_by=0, discarded_turn=1),)
        return
    with pytest.raises(HistoryError):
        RoundHistory.from_bytes(encoded[:cut])


@pytest.mark.parametrize(
    "encoded",
    [
        b"\x34\x00\x01\x01",
        b"\x00\x00\x50\x01",
        b"\x00\x40\x01\x01",
        b"\x00\x00\x10\x00",
        b"\x00\x00\x10\x81\x00",
        b"\x00\x00\x00",
        b"\x01\x00\x10\x01\x00\x00\x10\x01",
        b"\x00\x00\x10\x01\x00\x00\x10\x01",
    ],
    ids=[
        "no such card",
        "no such seat",
        "unused bit",
        "turn zero",
        "padded turn",
        "no event",
        "out of order",
        "twice the same card",
    ],
)
def test_bytes_that_no_history_makes_are_refused(encoded: bytes) -> None:
    with pytest.raises(HistoryError):
        RoundHistory.from_bytes(encoded)
