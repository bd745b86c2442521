"""How cards, melds, actions and events look in a terminal.

Suits have four colours, so that a hand is read at a glance; without colours (NO_COLOR) the symbols tell them apart.
Hands stand sorted by suit and rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami.game.v1 import event_pb2, rules_pb2
from rami_engine import (
    RANKS,
    Action,
    ActionKind,
    cards_of,
)
from rami_wire import action_from_proto

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rami.game.v1 import room_pb2
    from rami_engine import Card, Mask

SUIT_SYMBOLS: Final = "♣♦♥♠"
SUIT_STYLES: Final = ("green", "bright_blue", "red", "bold")
OWN_NAME: Final = "You"

_IRREGULAR: Final = {"be": ("are", "is"), "go": ("go", "goes")}


def draw_card(card: Card) -> Text:
    """A card such as 10♥, in the colour of its suit."""
    suit, rank = divmod(card, len(RANKS))
    name = RANKS[rank].replace("T", "10")
    return Text(f"{name}{SUIT_SYMBOLS[suit]}", style=SUIT_STYLES[suit])


def draw_cards(cards: Mask | Iterable[Card]) -> Text:
    """Cards with spaces between them; those of a mask by suit and rank."""
    ordered = cards_of(cards) if isinstance(cards, int) else cards
    return Text(" ").join(draw_card(card) for card in ordered)


def draw_action(action: Action) -> Text:
    """What an action does, as the player who chooses it reads it."""
    match action.kind:
        case ActionKind.DRAW_STOCK:
            return Text("draw from the stock")
        case ActionKind.DRAW_DISCARD:
            return Text("take the discard")
        case ActionKind.MELD:
            return Text.assemble("meld ", draw_cards(action.cards))
        case ActionKind.LAY_OFF:
            return Text.assemble("lay off ", draw_cards(action.cards), f" on meld {action.meld}")
        case ActionKind.DISCARD:
            return Text.assemble("discard ", draw_cards(action.cards))


def seat_names(room: room_pb2.Room, own: int | None) -> list[str]:
    """The name of every seat: "You" for the own one, the player's, or that of its bot."""
    names = []
    for seat in room.seats:
        if seat.seat == own:
            names.append(OWN_NAME)
        elif seat.HasField("player"):
            names.append(seat.player.display_name)
        elif seat.HasField("bot"):
            names.append(f"{seat.bot.bot.title()} {seat.seat + 1}")
        else:
            names.append(f"(seat {seat.seat + 1} is empty)")
    return names


def draw_change(change: event_pb2.Change, names: list[str]) -> Text | None:
    """One line of what happened; None for what needs no line."""
    match change.WhichOneof("kind"):
        case "action_played":
            return _draw_played(change.action_played, names)
        case "round_started":
            started = change.round_started
            return Text.assemble(
                f"Round {started.round_number}: {started.hand_size} cards each; ",
                draw_card(started.up_card - 1),
                f" is turned up; {_subject(names[started.starting_seat], 'begin')}",
                style="bold",
            )
        case "round_ended":
            return _draw_round_end(change.round_ended.result, names)
        case "match_ended":
            result = change.match_ended.result
            if not result.HasField("winner_seat"):
                return Text("The match was abandoned", style="bold")
            return Text(f"{_subject(names[result.winner_seat], 'win')} the match", style="bold")
        case "seat_changed":
            return _draw_seat_change(change.seat_changed, names)
        case "match_started":
            return Text("The match starts")
        case "room_closed":
            return Text("The room is gone")
        case _:
            return None


def _draw_played(played: event_pb2.ActionPlayed, names: list[str]) -> Text:
    action = action_from_proto(played.action)
    name = names[played.seat]
    line = Text()
    match action.kind:
        case ActionKind.DRAW_STOCK:
            line.append(_subject(name, "draw"))
            if played.HasField("drawn"):
                line = Text.assemble(line, " ", draw_card(played.drawn - 1))
            line.append(" from the stock")
        case ActionKind.DRAW_DISCARD:
            line = Text.assemble(_subject(name, "take"), " ", draw_card(played.drawn - 1), " from the discards")
        case ActionKind.MELD:
            line = Text.assemble(_subject(name, "meld"), " ", draw_cards(action.cards))
        case ActionKind.LAY_OFF:
            line = Text.assemble(_subject(name, "lay"), " off ", draw_cards(action.cards), f" on meld {action.meld}")
        case ActionKind.DISCARD:
            line = Text.assemble(_subject(name, "discard"), " ", draw_cards(action.cards))
    if played.source == event_pb2.ACTION_SOURCE_AUTOPILOT:
        line.append(" (autopilot)", style="dim")
    elif played.source == event_pb2.ACTION_SOURCE_FALLBACK:
        line.append(" (fallback)", style="dim")
    return line


def _draw_round_end(result: rules_pb2.RoundResult, names: list[str]) -> Text:
    winner = names[result.winner_seat]
    how = {
        rules_pb2.ROUND_END_REASON_WENT_OUT: f"{_subject(winner, 'go')} out and",
        rules_pb2.ROUND_END_REASON_STOCK_EXHAUSTED: f"the stock is empty, {_subject(winner, 'hold')} least and",
        rules_pb2.ROUND_END_REASON_TURN_LIMIT: f"the last turn is played, {_subject(winner, 'hold')} least and",
    }.get(result.reason, winner)
    gains = "get" if winner == OWN_NAME else "gets"
    scores = ", ".join(f"{name} {score}" for name, score in zip(names, result.scores, strict=True))
    return Text(f"Round {result.round_number}: {how} {gains} {result.points} points ({scores})", style="bold")


def _draw_seat_change(change: event_pb2.SeatChanged, names: list[str]) -> Text | None:
    name = names[change.seat.seat]
    match change.cause:
        case event_pb2.SEAT_CHANGE_CAUSE_JOINED:
            return Text(f"{_subject(name, 'sit')} down")
        case event_pb2.SEAT_CHANGE_CAUSE_LEFT:
            return Text(f"{_subject(name, 'leave')} the table", style="dim")
        case event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT:
            return Text(f"Time is up for {name}: autopilot plays", style="dim")
        case event_pb2.SEAT_CHANGE_CAUSE_RETURNED:
            return Text(f"{_subject(name, 'be')} back", style="dim")
        case _:
            return None


def _subject(name: str, verb: str) -> str:
    """A name and what it does: "You draw", "Ada draws"."""
    own, others = _IRREGULAR.get(verb, (verb, f"{verb}s"))
    return f"{name} {own if name == OWN_NAME else others}"
