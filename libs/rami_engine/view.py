"""What one seat, or a spectator, may see of a match.

A `SeatView` has no field that could carry another seat's hand, the order of the stock or a seed, and building
one reads nothing else of the state than what its viewer may see: two states that differ only in hidden cards
give equal views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rami_engine.errors import SeatError
from rami_engine.legal import DRAWS, legal_plays
from rami_engine.rules import RULES_ID, RULES_VERSION, Guards, RuleOptions
from rami_engine.state import MatchState, Phase, RoundResult

if TYPE_CHECKING:
    from rami_engine.actions import Action
    from rami_engine.cards import Card, Mask
    from rami_engine.history import CardTrace


@dataclass(frozen=True, slots=True)
class SeatView:
    """A match as its viewer sees it. Before the first deal the fields of the round are 0, None or empty.

    The viewer's hand is left out of `repr`, whose reader may be somebody else.
    """

    rules_id: str
    rules_version: str
    players: int
    viewer: int | None
    """The seat that sees; None for a spectator."""
    options: RuleOptions
    guards: Guards
    scores: tuple[int, ...]
    """By seat."""
    phase: Phase
    round_number: int
    """Rounds count from 1; 0 before the first deal."""
    turn: int | None
    """The seat to move, or the seat that acted last when the round is over; None before the first deal."""
    turn_number: int
    """The turn being played, counted over all seats in the round from 1; 0 before the first deal."""
    hand: Mask = field(repr=False)
    """The viewer's own hand; 0 for a spectator."""
    hand_sizes: tuple[int, ...]
    """Number of cards by seat; zeros before the first deal."""
    stock_count: int
    """Number of cards left in the stock."""
    discards: tuple[Card, ...]
    """Oldest first; the last is the top."""
    melds: tuple[Mask, ...]
    """Meld number n stands at place n - 1."""
    history: tuple[CardTrace, ...]
    """Of every card that the table has seen moving in this round, by ascending card index."""
    last_result: RoundResult | None
    """How the last finished round ended."""
    match_turns: int
    """Turns completed in the match, of all seats together."""
    winner: int | None
    """The seat that won the match, once it is over."""


def seat_view(match: MatchState, viewer: int | None) -> SeatView:
    """What a seat may see of a match; a spectator for `viewer` None.

    Raises SeatError for a seat that the match does not have.
    """
    if viewer is not None and not 0 <= viewer < match.players:
        raise SeatError(f"a match of {match.players} has no seat {viewer}")
    current = match.round
    return SeatView(
        rules_id=RULES_ID,
        rules_version=RULES_VERSION,
        players=match.players,
        viewer=viewer,
        options=match.options,
        guards=match.guards,
        scores=tuple(match.scores),
        phase=match.phase,
        round_number=current.number if current else 0,
        turn=current.turn if current else None,
        turn_number=current.turns + 1 if current else 0,
        hand=current.hands[viewer] if current and viewer is not None else 0,
        hand_sizes=tuple([hand.bit_count() for hand in current.hands]) if current else (0,) * match.players,
        stock_count=current.stock_count if current else 0,
        discards=tuple(current.discards) if current else (),
        melds=tuple(current.melds) if current else (),
        history=current.history.traces() if current else (),
        last_result=match.results,
        match_turns=match.turns,
        winner=match.winner,
    )


def legal_actions_for(view: SeatView) -> tuple[Action, ...]:
    """Every legal action of the viewer, from what the viewer sees: the same list as `legal_actions`.

    Trusts that the view is one that a match can come to: its table holds melds, of cards that are not in the hand.
    """
    if view.viewer is None or view.viewer != view.turn:
        return ()
    if view.phase == Phase.PLAY:
        return legal_plays(view.hand, view.melds, view.options.discard_to_win)
    return DRAWS if view.phase == Phase.DRAW else ()
