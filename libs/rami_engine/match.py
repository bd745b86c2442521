"""Playing: new matches, deals, the judgement of an action, and what an accepted one changes.

Source: the rule sheet, sections "Set-up" to "The match" and "Errors". All functions are pure but for the
match they are given, which `start_round` and `apply` change in place, and only when they succeed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rami_engine.actions import Action, ActionKind, require_well_formed
from rami_engine.cards import DECK_SIZE, Card, mask_of, mask_points
from rami_engine.errors import DealError, IllegalAction, Reason
from rami_engine.history import RoundHistory
from rami_engine.melds import MELD_KINDS
from rami_engine.rules import Guards, RuleOptions, hand_size, starting_seat
from rami_engine.state import (
    EndReason,
    MatchEndReason,
    MatchResult,
    MatchState,
    Phase,
    RoundResult,
    RoundState,
)

# Members of an enum, each bound once: reading one from its class costs more than comparing it (Python 3.11).
_DRAW_STOCK, _DRAW_DISCARD, _MELD, _, _DISCARD = ActionKind
_NOT_STARTED, _DRAW, _PLAY, _ROUND_OVER, _MATCH_OVER = Phase

_WHOLE_DECK: Final = bytes(range(DECK_SIZE))


class RoundStarted(NamedTuple):
    """What everybody sees of a deal."""

    number: int
    """Rounds count from 1."""
    turn: int
    """The seat that plays first."""
    turned_up: Card
    """The card that starts the discard pile."""


class Outcome(NamedTuple):
    """What an accepted action led to."""

    action: Action
    seat: int
    drawn: Card | None
    """The card that a draw brought to the hand, else None. From the stock: for this seat alone."""
    round_end: RoundResult | None
    match_end: MatchResult | None

    def __repr__(self) -> str:
        return (
            f"Outcome(action={self.action!r}, seat={self.seat}, "
            f"round_end={self.round_end!r}, match_end={self.match_end!r})"
        )


def new_match(players: int, options: RuleOptions, guards: Guards) -> MatchState:
    """A match before its first deal. Raises OptionsError for a player count outside 2..4."""
    hand_size(players)
    return MatchState(
        players=players,
        options=options,
        guards=guards,
        scores=[0] * players,
        turns=0,
        phase=_NOT_STARTED,
        round=None,
        results=None,
        winner=None,
    )


def start_round(match: MatchState, deck: bytes) -> RoundStarted:
    """Deal the next round from a deck of 52 card indexes, in order: hands, the card turned up, the stock.

    Raises DealError while a round is in play, after the match, and for a deck that lacks or repeats a card.
    """
    if match.phase not in (_NOT_STARTED, _ROUND_OVER):
        raise DealError("a round is in play" if match.phase != _MATCH_OVER else "the match is over")
    if bytes(sorted(deck)) != _WHOLE_DECK:
        raise DealError("the deck must hold each of the 52 cards once")
    players = match.players
    number = match.round.number + 1 if match.round is not None else 1
    first = starting_seat(number, players)
    dealt = players * hand_size(players)
    match.round = RoundState(
        number=number,
        hands=[mask_of(deck[(seat - first) % players : dealt : players]) for seat in range(players)],
        deck=bytes(deck),
        stock_pos=dealt + 1,
        discards=[deck[dealt]],
        melds=[],
        turn=first,
        turns=0,
        history=RoundHistory(),
    )
    match.phase = _DRAW
    return RoundStarted(number, first, deck[dealt])


def check(match: MatchState, seat: int, action: Action) -> Reason | None:
    """Why the rules refuse an action, or None when it is legal; the first reason in the order of the rules.

    Raises MalformedAction for an action that is not well formed.
    """
    require_well_formed(action)
    phase = match.phase
    if phase == _NOT_STARTED:
        return Reason.MATCH_NOT_STARTED
    if phase == _MATCH_OVER:
        return Reason.MATCH_OVER
    if phase == _ROUND_OVER:
        return Reason.WRONG_PHASE
    current = match.round
    assert current is not None, "a round is in play"
    if seat != current.turn:
        return Reason.NOT_YOUR_TURN
    if (action.kind <= _DRAW_DISCARD) != (phase == _DRAW):
        return Reason.WRONG_PHASE
    return _refusal_of_play(current, action, match.options) if phase == _PLAY else None


def apply(match: MatchState, seat: int, action: Action) -> Outcome:
    """Play an action, changing the match.

    Raises IllegalAction when the rules refuse it and MalformedAction when it is not well formed; nothing
    changes then.
    """
    reason = check(match, seat, action)
    if reason is not None:
        raise IllegalAction(reason)
    current = match.round
    assert current is not None, "a round is in play"
    kind, cards, number = action
    if kind == _DRAW_STOCK:
        return _draw_stock(match, current, action)
    if kind == _DRAW_DISCARD:
        card = current.discards.pop()
        current.history.record_taking(card, seat, current.turns + 1)
        return _drawn(match, current, action, card)
    current.hands[seat] ^= cards
    if kind == _DISCARD:
        return _discarded(match, current, action)
    if kind == _MELD:
        current.melds.append(cards)
    else:
        current.melds[number - 1] |= cards
    current.history.record_laying(cards, seat, current.turns + 1)
    if not current.hands[seat]:
        return _end_round(match, current, action, EndReason.WENT_OUT)
    return Outcome(action, seat, None, None, None)


def match_result(match: MatchState) -> MatchResult | None:
    """How the match ended, or None when it is not over."""
    if match.winner is None:
        return None
    won = match.scores[match.winner] >= match.options.target_score
    reason = MatchEndReason.TARGET_SCORE if won else MatchEndReason.TURN_LIMIT
    return MatchResult(match.winner, tuple(match.scores), reason)


def _refusal_of_play(current: RoundState, action: Action, options: RuleOptions) -> Reason | None:
    """Why a meld, lay-off or discard of the seat to move is refused."""
    kind, cards, number = action
    hand = current.hands[current.turn]
    if cards & ~hand:
        return Reason.CARD_NOT_IN_HAND
    if kind == _DISCARD:
        return None
    if kind == _MELD:
        if cards not in MELD_KINDS:
            return Reason.INVALID_MELD
    elif not 1 <= number <= len(current.melds):
        return Reason.MELD_NOT_FOUND
    elif current.melds[number - 1] | cards not in MELD_KINDS:
        return Reason.INVALID_LAY_OFF
    if cards == hand and options.discard_to_win:
        return Reason.MUST_KEEP_DISCARD
    return None


def _draw_stock(match: MatchState, current: RoundState, action: Action) -> Outcome:
    if current.stock_pos == DECK_SIZE:
        return _end_round(match, current, action, EndReason.STOCK_EXHAUSTED)
    current.history.record_pass(current.discards[-1], current.turn, current.turns + 1)
    card = current.deck[current.stock_pos]
    current.stock_pos += 1
    return _drawn(match, current, action, card)


def _drawn(match: MatchState, current: RoundState, action: Action, card: Card) -> Outcome:
    current.hands[current.turn] |= 1 << card
    match.phase = _PLAY
    return Outcome(action, current.turn, card, None, None)


def _discarded(match: MatchState, current: RoundState, action: Action) -> Outcome:
    """The turn is completed; pass it on, or end the round."""
    seat = current.turn
    card = action.cards.bit_length() - 1
    current.discards.append(card)
    current.turns += 1
    current.history.record_discard(card, seat, current.turns)
    match.turns += 1
    if not current.hands[seat]:
        return _end_round(match, current, action, EndReason.WENT_OUT)
    if current.turns >= match.guards.max_turns_per_round:
        return _end_round(match, current, action, EndReason.TURN_LIMIT)
    current.turn = (seat + 1) % match.players
    match.phase = _DRAW
    return Outcome(action, seat, None, None, None)


def _end_round(match: MatchState, current: RoundState, action: Action, reason: EndReason) -> Outcome:
    """Score the round, and end the match when it is decided or has completed its turns."""
    hand_points = tuple([mask_points(hand, match.options.ace_high) for hand in current.hands])
    # A seat that went out holds nothing, which is least as well; among equals the lowest seat wins.
    winner = hand_points.index(min(hand_points))
    points = sum(hand_points) - hand_points[winner]
    match.scores[winner] += points
    match.results = RoundResult(current.number, reason, winner, points, hand_points, tuple(match.scores))
    if match.scores[winner] >= match.options.target_score:
        match.winner = winner
    elif match.turns >= match.guards.max_turns_per_match:
        match.winner = match.scores.index(max(match.scores))
    match.phase = _ROUND_OVER if match.winner is None else _MATCH_OVER
    return Outcome(action, current.turn, None, match.results, match_result(match))
