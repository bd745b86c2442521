import pytest

from rami_engine import (
    DECK_SIZE,
    FULL_DECK,
    CardError,
    card_points,
    cards_of,
    format_card,
    format_cards,
    mask_of,
    mask_points,
    parse_card,
    parse_cards,
)


@pytest.mark.parametrize(("text", "card"), [("2C", 0), ("AC", 12), ("2D", 13), ("7H", 31), ("AS", 51)])
def test_a_card_is_written_rank_then_suit(text: str, card: int) -> None:
    assert parse_card(text) == card
    assert format_card(card) == text


def test_every_card_reads_back_as_it_was_written() -> None:
    texts = [format_card(card) for card in range(DECK_SIZE)]
    assert len(set(texts)) == DECK_SIZE
    assert [parse_card(text) for text in texts] == list(range(DECK_SIZE))


@pytest.mark.parametrize("text", ["", "7", "H7", "7h", "10H", "1C", "7H ", "7X"])
def test_no_other_text_is_a_card(text: str) -> None:
    with pytest.raises(CardError):
        parse_card(text)


@pytest.mark.parametrize("card", [-1, 52])
def test_an_index_outside_the_deck_has_no_text_and_is_in_no_set(card: int) -> None:
    with pytest.raises(CardError):
        format_card(card)
    with pytest.raises(CardError):
        mask_of([card])


def test_cards_keep_the_order_of_their_text() -> None:
    assert parse_cards(" 7H 2C  AS ") == (31, 0, 51)
    assert format_cards((31, 0, 51)) == "7H 2C AS"
    assert parse_cards("") == ()


def test_a_set_names_its_cards_by_ascending_index() -> None:
    assert mask_of([51, 0, 31]) == 1 << 51 | 1 << 31 | 1
    assert cards_of(mask_of([51, 0, 31])) == (0, 31, 51)
    assert cards_of(FULL_DECK) == tuple(range(DECK_SIZE))
    assert cards_of(0) == ()


def test_a_card_named_twice_is_no_set() -> None:
    with pytest.raises(CardError, match="7H is named twice"):
        mask_of(parse_cards("7H 2C 7H"))


@pytest.mark.parametrize(
    ("text", "low", "high"), [("2C", 2, 2), ("9D", 9, 9), ("TS", 10, 10), ("JH", 10, 10), ("KC", 10, 10), ("AC", 1, 11)]
)
def test_points_of_a_card(text: str, low: int, high: int) -> None:
    assert card_points(parse_card(text), ace_high=False) == low
    assert card_points(parse_card(text), ace_high=True) == high


@pytest.mark.parametrize(("ace_high", "points"), [(False, 340), (True, 380)])
def test_points_of_the_whole_deck(ace_high: bool, points: int) -> None:
    assert mask_points(FULL_DECK, ace_high) == points
    assert sum(card_points(card, ace_high) for card in range(DECK_SIZE)) == points
