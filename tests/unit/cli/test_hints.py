"""A hint says what the strongest bot would do, in one line, from what the player sees."""

from rami_bots import Considered, Decision, find_bot
from rami_cli.hints import draw_hint, hint_for
from rami_engine import DRAW_STOCK, Phase, discard_action, legal_actions_for, parse_card, seat_view
from unit.bots.asking import time_for, view_of_turn
from unit.engine.positions import position, round_of

PLENTY_SECONDS = 100.0
"""Time for the whole search, so that the hint does not depend on the machine."""
SEVEN = "AS 7D 9C 3H 2S 6C JC"


def discard(text: str) -> Considered:
    return Considered(discard_action(parse_card(text)), 1.25, 8)


def test_a_hint_names_the_choice_first_and_few_others() -> None:
    others = tuple(discard(card) for card in ("KD", "9H", "TS", "2C"))
    decision = Decision(others[1].action, others)
    assert draw_hint(decision).plain == "Hint: discard 9♥ (+1.2); or discard K♦ (+1.2), discard 10♠ (+1.2)"


def test_what_was_not_estimated_shows_no_points() -> None:
    decision = Decision(DRAW_STOCK, (Considered(DRAW_STOCK, None), discard("2C")._replace(points=None)))
    assert draw_hint(decision).plain == "Hint: draw from the stock"


def test_a_hint_is_what_hard_would_do_and_fits_the_screen() -> None:
    for match in (
        position("2D 3D 4D 9H TH JH QH KC", SEVEN, discards="6D"),
        position("5D 6D KC 2H", SEVEN, phase=Phase.DRAW, discards="4D"),
    ):
        view = view_of_turn(match)
        legal = legal_actions_for(view)
        line = hint_for(view, legal, PLENTY_SECONDS)
        chosen = find_bot("hard").policy(view, legal, view.turn_number, time_for(1000))
        assert line.plain.startswith(draw_hint(Decision(chosen, (Considered(chosen, None),))).plain)
        assert line.cell_len < 80


def test_hidden_cards_do_not_change_a_hint() -> None:
    hints = set()
    for rival in (SEVEN, "AS 7D 9C 3H 2S 6C 8S"):
        match = position("KD KC 9H TH QS 2C 6D 4S", rival, discards="8C")
        view = seat_view(match, round_of(match).turn)
        hints.add(hint_for(view, legal_actions_for(view), PLENTY_SECONDS).plain)
    assert len(hints) == 1
