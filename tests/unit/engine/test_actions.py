import pytest

from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    FULL_DECK,
    Action,
    ActionKind,
    MalformedAction,
    discard_action,
    format_action,
    lay_off_action,
    meld_action,
    parse_action,
    parse_card,
    parse_cards,
    require_well_formed,
)
from unit.engine.positions import mask


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("stock", DRAW_STOCK),
        ("discard-pile", DRAW_DISCARD),
        ("meld 5H 6H 7H", meld_action(parse_cards("5H 6H 7H"))),
        ("lay-off 1 8H", lay_off_action(1, parse_cards("8H"))),
        ("lay-off 0 8H 9H", lay_off_action(0, parse_cards("8H 9H"))),
        ("discard 7H", discard_action(parse_card("7H"))),
    ],
)
def test_an_action_reads_back_as_it_was_written(text: str, action: Action) -> None:
    assert format_action(action) == text
    assert parse_action(text) == action
    assert parse_action(f"  {text}  ") == action


def test_an_action_names_its_cards_in_any_order() -> None:
    assert meld_action(parse_cards("7H 5H 6H")) == Action(ActionKind.MELD, mask("5H 6H 7H"))
    assert parse_action("meld 7H 5H 6H") == parse_action("meld 5H 6H 7H")


def test_a_meld_of_one_card_is_well_formed() -> None:
    require_well_formed(meld_action(parse_cards("7H")))
    require_well_formed(lay_off_action(99, parse_cards("7H")))


@pytest.mark.parametrize("cards", [[], [-1], [52], [7, 7]])
def test_no_unknown_or_repeated_card_makes_a_meld_or_a_lay_off(cards: list[int]) -> None:
    with pytest.raises(MalformedAction) as melding:
        meld_action(cards)
    with pytest.raises(MalformedAction) as laying_off:
        lay_off_action(1, cards)
    assert melding.value.field == laying_off.value.field == "cards"


@pytest.mark.parametrize("card", [-1, 52])
def test_an_unknown_card_makes_no_discard(card: int) -> None:
    with pytest.raises(MalformedAction) as malformed:
        discard_action(card)
    assert malformed.value.field == "card"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "action"),
        ("pass", "action"),
        ("stock 7H", "action"),
        ("discard-pile 7H", "action"),
        ("STOCK", "action"),
        ("meld", "cards"),
        ("meld 7X", "cards"),
        ("meld 7H 7H 8H", "cards"),
        ("lay-off", "meld"),
        ("lay-off 8H", "meld"),
        ("lay-off -1 8H", "meld"),
        ("lay-off ² 8H", "meld"),
        (f"lay-off {'9' * 5000} 8H", "meld"),
        ("lay-off 1", "cards"),
        ("lay-off 1 8X", "cards"),
        ("discard", "card"),
        ("discard 8X", "card"),
        ("discard 7H 8H", "card"),
    ],
)
def test_no_other_text_is_an_action(text: str, field: str) -> None:
    with pytest.raises(MalformedAction) as malformed:
        parse_action(text)
    assert malformed.value.field == field


@pytest.mark.parametrize(
    ("action", "field"),
    [
        (Action(ActionKind.DRAW_STOCK, cards=1), "cards"),
        (Action(ActionKind.DRAW_DISCARD, meld=1), "cards"),
        (Action(ActionKind.MELD), "cards"),
        (Action(ActionKind.MELD, cards=FULL_DECK + 1), "cards"),
        (Action(ActionKind.MELD, cards=-1), "cards"),
        (Action(ActionKind.MELD, cards=7, meld=1), "meld"),
        (Action(ActionKind.LAY_OFF, meld=1), "cards"),
        (Action(ActionKind.DISCARD), "card"),
        (Action(ActionKind.DISCARD, cards=3), "card"),
        (Action(ActionKind.DISCARD, cards=1, meld=1), "card"),
        (Action(ActionKind.DISCARD, cards=FULL_DECK + 1), "card"),
    ],
)
def test_an_action_made_by_hand_is_checked_too(action: Action, field: str) -> None:
    with pytest.raises(MalformedAction) as malformed:
        require_well_formed(action)
    assert malformed.value.field == field


def test_an_action_of_no_kind_is_malformed() -> None:
    unset = Action(0)  # type: ignore[arg-type]  # what a careless decoder might make
    with pytest.raises(MalformedAction) as malformed:
        require_well_formed(unset)
    assert malformed.value.field == "action"
