"""What a person types becomes a legal action, or a reason why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rami_cli.choosing import ChoiceError, choose, draw_choices
from rami_cli.screen import WIDTH
from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    FULL_DECK,
    ActionKind,
    Phase,
    RuleOptions,
    SeatView,
    discard_action,
    lay_off_action,
    legal_actions_for,
    mask_of,
    meld_action,
    parse_card,
    parse_cards,
    seat_view,
)
from support.matches import new_room


def view_of(hand: str, *, phase: Phase = Phase.PLAY, melds: str = "", options: RuleOptions | None = None) -> SeatView:
    """The view of seat 0, who is to move, with melds separated by commas."""
    room = new_room(["ann", "bob"])
    room.start()
    assert room.match is not None
    return replace(
        seat_view(room.match, 0),
        hand=mask_of(parse_cards(hand)),
        phase=phase,
        turn=0,
        melds=tuple(mask_of(parse_cards(meld)) for meld in melds.split(",") if meld),
        options=options or RuleOptions(),
    )


HAND = view_of("5H 6H 7H 8H TD KS", melds="9C 9D 9H")


@pytest.mark.parametrize(
    ("typed", "action"),
    [
        ("5h 6h 7h", meld_action(parse_cards("5H 6H 7H"))),
        (" 7H  5h 6H ", meld_action(parse_cards("5H 6H 7H"))),
        ("10d", discard_action(parse_card("TD"))),
        ("td", discard_action(parse_card("TD"))),
        ("ks", discard_action(parse_card("KS"))),
        ("1", meld_action(parse_cards("5H 6H 7H"))),
    ],
)
def test_cards_and_numbers_name_actions(typed: str, action: object) -> None:
    assert choose(typed, HAND, legal_actions_for(HAND)) == action


def test_a_lay_off_names_its_meld() -> None:
    view = view_of("9S KH", melds="9C 9D 9H,2C 3C 4C")
    assert choose("9s on 1", view, legal_actions_for(view)) == lay_off_action(1, parse_cards("9S"))


@pytest.mark.parametrize("typed", ["s", "stock", "S", "1"])
def test_the_stock(typed: str) -> None:
    view = view_of("5H", phase=Phase.DRAW)
    assert choose(typed, view, legal_actions_for(view)) == DRAW_STOCK


@pytest.mark.parametrize("typed", ["t", "take", "2"])
def test_the_discard_pile(typed: str) -> None:
    view = view_of("5H", phase=Phase.DRAW)
    assert choose(typed, view, legal_actions_for(view)) == DRAW_DISCARD


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "type a number"),
        ("0", "there is no number 0"),
        ("99", "there is no number 99"),
        ("zz", "is not understood"),
        ("7h 7h", "is not understood"),
        ("s", "you have drawn already"),
        ("2c", "you do not hold that"),
        ("5h 6h td", "neither a set nor a run"),
        ("5h 6h", "neither a set nor a run"),
        ("ks on 1", "does not fit meld 1"),
        ("ks on 7", "there is no meld 7"),
        ("ks on", "is not understood"),
    ],
)
def test_what_is_not_legal_is_explained(typed: str, why: str) -> None:
    with pytest.raises(ChoiceError, match=why):
        choose(typed, HAND, legal_actions_for(HAND))


def test_cards_before_the_draw_are_explained() -> None:
    view = view_of("5H", phase=Phase.DRAW)
    with pytest.raises(ChoiceError, match="draw first"):
        choose("5h", view, legal_actions_for(view))


def test_the_card_that_must_be_kept_is_explained() -> None:
    view = view_of("5H 6H 7H", options=RuleOptions(discard_to_win=True))
    with pytest.raises(ChoiceError, match="last card must be discarded"):
        choose("5h 6h 7h", view, legal_actions_for(view))


def test_every_listed_number_means_what_it_says() -> None:
    view = view_of("5H 6H 7H 8H 9H TH TD KS", melds="9C 9D 9S")
    legal = legal_actions_for(view)
    listed = [action for action in legal if action.kind != ActionKind.DISCARD]
    assert len(listed) >= 10
    assert [choose(str(number), view, legal) for number in range(1, len(listed) + 1)] == listed
    with pytest.raises(ChoiceError, match=f"there is no number {len(listed) + 1} in the list"):
        choose(str(len(listed) + 1), view, legal)


def test_a_number_without_a_list_plays_nothing() -> None:
    view = view_of("5H 9C KS")
    legal = legal_actions_for(view)
    assert all(action.kind == ActionKind.DISCARD for action in legal)
    for typed in ("1", "2", "10"):
        with pytest.raises(ChoiceError, match="no list to choose a number from: type the card"):
            choose(typed, view, legal)


def test_a_number_that_was_cut_from_the_list_plays_nothing() -> None:
    view = replace(HAND, hand=FULL_DECK)
    legal = legal_actions_for(view)
    shown = "\n".join(line.plain for line in draw_choices(legal))
    numbers = [number for number in range(1, len(legal) + 1) if f"{number} meld" in shown or f"{number} lay" in shown]
    assert choose(str(numbers[-1]), view, legal) == legal[numbers[-1] - 1]
    with pytest.raises(ChoiceError, match="there is no number"):
        choose(str(numbers[-1] + 1), view, legal)


def test_long_lists_are_cut_and_say_so() -> None:
    view = replace(HAND, hand=FULL_DECK)
    lines = draw_choices(legal_actions_for(view))
    assert len(lines) == 7
    assert "more: type their cards" in lines[-2].plain
    assert all(line.cell_len < WIDTH for line in lines)
