"""What a person may type to play, and what it means: numbers of the list, cards, or the action in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami_cli.drawing import draw_action
from rami_cli.screen import WIDTH
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

HELP: Final = (
    "Type a number of the list, or in words:\n"
    "  s                the stock                 t            take the discard\n"
    "  5h 6h 7h         meld these cards          7h           discard it\n"
    "  8h on 1          lay off on meld 1         10 is written t or 10\n"
    "  ? this help      q leave and end"
)

_LIST_LINES: Final = 5


class ChoiceError(ValueError):
    """What was typed is no legal action; the text says why."""


def draw_choices(legal: tuple[Action, ...]) -> list[Text]:
    """The numbered actions in at most six lines; discards, which a card names, are summed up."""
    lines, shown = _numbered(legal)
    further = len(_listed(legal)) - shown
    if further:
        lines.append(Text(f"… and {further} more: type their cards", style="dim"))
    if len(_listed(legal)) < len(legal):
        lines.append(Text("To end the turn type the card to discard, such as 7h.", style="dim"))
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
        raise ChoiceError("type a number, a card, or ? for help")
    if len(words) == 1 and words[0].isdecimal():
        number, (_, shown) = int(words[0]), _numbered(legal)
        if not shown:
            raise ChoiceError("there is no list to choose a number from: type the card to discard, such as 7h")
        if not 1 <= number <= shown:
            raise ChoiceError(f"there is no number {number} in the list: type a number of it, or a card such as 7h")
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
        raise ChoiceError(f"{' '.join(words)!r} is not understood ({error}); ? shows what is") from error


def _cards(words: list[str]) -> tuple[Card, ...]:
    return parse_cards(" ".join(words).upper().replace("10", "T"))


def _why_not(action: Action, view: SeatView) -> str:
    """Why an action is not in the list of legal ones."""
    draws = action.kind in (ActionKind.DRAW_STOCK, ActionKind.DRAW_DISCARD)
    if view.phase.name == "DRAW" and not draws:
        return "draw first: s for the stock, t to take the discard"
    if draws:
        return "you have drawn already: meld, lay off, or discard a card"
    if action.cards & ~view.hand:
        return "you do not hold that"
    if action.kind == ActionKind.MELD and not is_meld(action.cards):
        return "that is neither a set nor a run"
    if action.kind == ActionKind.LAY_OFF and not 1 <= action.meld <= len(view.melds):
        return f"there is no meld {action.meld}"
    if action.kind == ActionKind.LAY_OFF and not is_meld(view.melds[action.meld - 1] | action.cards):
        return f"that does not fit meld {action.meld}"
    return "the last card must be discarded"
