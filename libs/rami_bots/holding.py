"""When to hold melds back: as long as laying them would only give the others lay-offs.

A meld in hand is safe until somebody goes out or the stock is gone. The bounds were found by playing bots against
each other: holding back wins about two games in three of two players against the same bot that lays at once. With four
seats nearly every round ends with the stock, so there only the stock counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_bots.policy import seat_of

if TYPE_CHECKING:
    from rami_engine import SeatView

SMALL_HAND: Final = 3
"""A rival with no more cards than this may go out in its next turn."""


def laying_stock(players: int) -> int:
    """The stock at which all is laid: nobody may get another turn after it."""
    return 4 if players == 2 else players


def own_laying_stock(players: int) -> int:
    """The stock at which a seat that looks ahead lays all: it gets no other turn for sure, though it may be asked
    whether the round ends, and can take the discard instead.
    """
    return players - 2


def turns_run_out(view: SeatView) -> bool:
    """Whether the turns of the round end before everybody has had another two."""
    return view.guards.max_turns_per_round - view.turn_number < 2 * view.players


def has_to_lay(view: SeatView) -> bool:
    """Whether the seat should lay all it can in this turn."""
    return turns_run_out(view) or is_time_to_lay(view.players, view.stock_count, smallest_rival_hand(view))


def is_time_to_lay(players: int, stock_count: int, smallest_rival: int) -> bool:
    """Whether the stock, or a rival with few cards, makes a seat lay all it can."""
    return stock_count <= laying_stock(players) or (players < 4 and smallest_rival <= SMALL_HAND)


def smallest_rival_hand(view: SeatView) -> int:
    """The fewest cards that a rival holds."""
    seat = seat_of(view)
    return min([size for other, size in enumerate(view.hand_sizes) if other != seat])
