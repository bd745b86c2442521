"""What a person may type to play, and what it means: numbers of the list, cards, or the action in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami_cli.drawing import draw_action
from rami_cli.screen import WIDTH
from rami_cli.texts import rich_text, text
from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    ActionKind,
    CardError,
    MalformedAction,
    discard_action,
    is_meld,
    lay_off_action,
    meld_action,
    parse_cards,
)

if TYPE_CHECKING:
    from rami_engine import Card, SeatView

_LIST_LINES: Final = 5


class ChoiceError(ValueError):
    """What was typed is no legal action; the text says why."""


def draw_choices(legal: tuple[Action, ...]) -> list[Text]:
    """The numbered actions in at most six lines; discards, which a card names, are summed up."""
    lines, shown = _numbered(legal)
    further = len(_listed(legal)) - shown
    if further:
        lines.append(rich_text("more-choices", "dim", count=further))
    if len(_listed(legal)) < len(legal):
        lines.append(rich_text("end-turn", "dim"))
    return lines


def _listed(legal: tuple[Action, ...]) -> list[Action]:
    """What is chosen by its number: everything but discards, which come last."""
    return [action for action in legal if action.kind != ActionKind.DISCARD]


def _numbered(legal: tuple[Action, ...]) -> tuple[list[Text], int]:
    """The lines of numbered actions, as many as there is room for, and how many actions stand in them."""
    lines = [Text()]
    shown = 0
    for number, action in enumerate(_listed(legal), 1):
        drawn = Text.assemble((f"{number} ", "bold"), draw_action(action), "   ")
        if lines[-1].cell_len + drawn.cell_len >= WIDTH:
            if len(lines) == _LIST_LINES:
                break
            lines.append(Text())
        lines[-1].append_text(drawn)
        shown = number
    return [line for line in lines if line.plain], shown


def choose(typed: str, view: SeatView, legal: tuple[Action, ...]) -> Action:
    """The legal action that was typed. A number only means what `draw_choices` shows with it. Raises ChoiceError."""
    words = typed.lower().split()
    if not words:
        raise ChoiceError(text("wrong-nothing"))
    if len(words) == 1 and words[0].isdecimal():
        number, (_, shown) = int(words[0]), _numbered(legal)
        if not shown:
            raise ChoiceError(text("wrong-no-list"))
        if not 1 <= number <= shown:
            raise ChoiceError(text("wrong-number", number=str(number)))
        return _listed(legal)[number - 1]
    action = _named(words)
    if action not in legal:
        raise ChoiceError(_why_not(action, view))
    return action


def _named(words: list[str]) -> Action:
    if words in (["s"], ["stock"]):
        return DRAW_STOCK
    if words in (["t"], ["take"]):
        return DRAW_DISCARD
    try:
        if len(words) > 2 and words[-2] == "on" and words[-1].isdecimal():
            return lay_off_action(int(words[-1]), _cards(words[:-2]))
        cards = _cards(words)
        return discard_action(cards[0]) if len(cards) == 1 else meld_action(cards)
    except (CardError, MalformedAction) as error:
        raise ChoiceError(text("wrong-words", words=repr(" ".join(words)), error=str(error))) from error


def _cards(words: list[str]) -> tuple[Card, ...]:
    return parse_cards(" ".join(words).upper().replace("10", "T"))


def _why_not(action: Action, view: SeatView) -> str:
    """Why an action is not in the list of legal ones."""
    draws = action.kind in (ActionKind.DRAW_STOCK, ActionKind.DRAW_DISCARD)
    if view.phase.name == "DRAW" and not draws:
        return text("wrong-draw-first")
    if draws:
        return text("wrong-drawn")
    if action.cards & ~view.hand:
        return text("wrong-not-held")
    if action.kind == ActionKind.MELD and not is_meld(action.cards):
        return text("wrong-no-meld")
    if action.kind == ActionKind.LAY_OFF and not 1 <= action.meld <= len(view.melds):
        return text("wrong-meld-number", meld=action.meld)
    if action.kind == ActionKind.LAY_OFF and not is_meld(view.melds[action.meld - 1] | action.cards):
        return text("wrong-fit", meld=action.meld)
    return text("wrong-last-card")
