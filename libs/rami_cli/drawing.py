"""How cards, melds, actions and events look in a terminal.

Suits have four colours, so that a hand is read at a glance; without colours (NO_COLOR) the symbols tell them apart.
Hands stand sorted by suit and rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami.game.v1 import event_pb2, rules_pb2
from rami_cli.texts import own, own_name, rich_text, text
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

_PLAYED: Final = {
    ActionKind.DRAW_STOCK: "draws",
    ActionKind.DRAW_DISCARD: "takes",
    ActionKind.MELD: "melds",
    ActionKind.LAY_OFF: "lays-off",
    ActionKind.DISCARD: "discards",
}
_ROUND_ENDS: Final = {
    rules_pb2.ROUND_END_REASON_WENT_OUT: "round-ends-out",
    rules_pb2.ROUND_END_REASON_STOCK_EXHAUSTED: "round-ends-stock",
    rules_pb2.ROUND_END_REASON_TURN_LIMIT: "round-ends-limit",
}
_SEAT_CHANGES: Final = {
    event_pb2.SEAT_CHANGE_CAUSE_JOINED: ("sits-down", ""),
    event_pb2.SEAT_CHANGE_CAUSE_LEFT: ("leaves", "dim"),
    event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT: ("time-is-up", "dim"),
    event_pb2.SEAT_CHANGE_CAUSE_RETURNED: ("is-back", "dim"),
}


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
            return rich_text("action-draw-stock")
        case ActionKind.DRAW_DISCARD:
            return rich_text("action-draw-discard")
        case ActionKind.MELD:
            return rich_text("action-meld", cards=draw_cards(action.cards))
        case ActionKind.LAY_OFF:
            return rich_text("action-lay-off", cards=draw_cards(action.cards), meld=action.meld)
        case ActionKind.DISCARD:
            return rich_text("action-discard", cards=draw_cards(action.cards))


def seat_names(room: room_pb2.Room, own_seat: int | None) -> list[str]:
    """The name of every seat: "You" for the own one, the player's, or that of its bot."""
    names = []
    for seat in room.seats:
        if seat.seat == own_seat:
            names.append(own_name())
        elif seat.HasField("player"):
            names.append(seat.player.display_name)
        elif seat.HasField("bot"):
            names.append(f"{seat.bot.bot.title()} {seat.seat + 1}")
        else:
            names.append(text("empty-seat", number=seat.seat + 1))
    return names


def draw_change(change: event_pb2.Change, names: list[str]) -> Text | None:
    """One line of what happened; None for what needs no line."""
    match change.WhichOneof("kind"):
        case "action_played":
            return _draw_played(change.action_played, names)
        case "round_started":
            started = change.round_started
            return rich_text(
                "round-starts",
                "bold",
                round=started.round_number,
                size=started.hand_size,
                card=draw_card(started.up_card - 1),
                **own(names[started.starting_seat]),
            )
        case "round_ended":
            return _draw_round_end(change.round_ended.result, names)
        case "match_ended":
            result = change.match_ended.result
            if not result.HasField("winner_seat"):
                return rich_text("match-abandoned", "bold")
            return rich_text("match-won", "bold", **own(names[result.winner_seat]))
        case "seat_changed":
            return _draw_seat_change(change.seat_changed, names)
        case "match_started":
            return rich_text("match-starts")
        case "room_closed":
            return rich_text("room-gone")
        case _:
            return None


def _draw_played(played: event_pb2.ActionPlayed, names: list[str]) -> Text:
    action = action_from_proto(played.action)
    values: dict[str, object] = dict(own(names[played.seat]))
    if played.HasField("drawn"):
        values["card"] = draw_card(played.drawn - 1)
    if action.cards:
        values["cards"] = draw_cards(action.cards)
    if action.meld:
        values["meld"] = action.meld
    key = _PLAYED[action.kind]
    if action.kind == ActionKind.DRAW_STOCK and "card" in values:
        key = "draws-card"
    line = rich_text(key, **values)
    if played.source == event_pb2.ACTION_SOURCE_AUTOPILOT:
        line.append(f" {text('by-autopilot')}", style="dim")
    elif played.source == event_pb2.ACTION_SOURCE_FALLBACK:
        line.append(f" {text('by-fallback')}", style="dim")
    return line


def _draw_round_end(result: rules_pb2.RoundResult, names: list[str]) -> Text:
    return rich_text(
        _ROUND_ENDS[result.reason],
        "bold",
        round=result.round_number,
        points=result.points,
        scores=", ".join(f"{name} {score}" for name, score in zip(names, result.scores, strict=True)),
        **own(names[result.winner_seat]),
    )


def _draw_seat_change(change: event_pb2.SeatChanged, names: list[str]) -> Text | None:
    if change.cause not in _SEAT_CHANGES:
        return None
    key, style = _SEAT_CHANGES[change.cause]
    return rich_text(key, style, **own(names[change.seat.seat]))
