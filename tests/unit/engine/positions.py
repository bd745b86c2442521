"""Arranged positions, seeded decks and two simple policies, shared by the tests of the rules."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from rami_engine import (
    FULL_DECK,
    Action,
    ActionKind,
    Guards,
    Mask,
    MatchState,
    Outcome,
    Phase,
    RoundHistory,
    RoundState,
    RuleOptions,
    apply,
    cards_of,
    legal_actions,
    mask_of,
    mask_points,
    new_match,
    parse_cards,
    start_round,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Policy = Callable[[random.Random, tuple[Action, ...]], Action]


def mask(text: str) -> Mask:
    return mask_of(parse_cards(text))


def shuffled(rng: random.Random) -> bytes:
    return bytes(rng.sample(range(52), 52))


def position(
    *hands: str,
    turn: int = 0,
    phase: Phase = Phase.PLAY,
    melds: Sequence[str] = (),
    discards: str = "",
    stock: str | None = None,
    options: RuleOptions | None = None,
    guards: Guards | None = None,
) -> MatchState:
    """A first round with these cards; all others are the stock, in order of their index, unless it is given."""
    held = [mask(hand) for hand in hands]
    table = [mask(meld) for meld in melds]
    pile = list(parse_cards(discards))
    placed = sum(held) + sum(table) + mask_of(pile)
    stock_cards = parse_cards(stock) if stock is not None else cards_of(FULL_DECK & ~placed)
    dealt = cards_of(FULL_DECK & ~mask_of(stock_cards))
    return MatchState(
        players=len(hands),
        options=options or RuleOptions(),
        guards=guards or Guards(),
        scores=[0] * len(hands),
        turns=0,
        phase=phase,
        round=RoundState(
            number=1,
            hands=held,
            deck=bytes(dealt + stock_cards),
            stock_pos=len(dealt),
            discards=pile,
            melds=table,
            turn=turn,
            turns=0,
            history=RoundHistory(),
        ),
        results=None,
        winner=None,
    )


def round_of(match: MatchState) -> RoundState:
    assert match.round is not None
    return match.round


def play_random(rng: random.Random, legal: tuple[Action, ...]) -> Action:
    """Any legal action."""
    return rng.choice(legal)


def play_greedy(rng: random.Random, legal: tuple[Action, ...]) -> Action:
    """The most points that can be laid, else the dearest discard; draws from either pile."""
    lays = [action for action in legal if action.kind in (ActionKind.MELD, ActionKind.LAY_OFF)]
    return max(lays or legal, key=lambda action: (mask_points(action.cards, ace_high=False), rng.random()))


class Step(NamedTuple):
    seat: int
    hand_sizes: list[int]
    """Before the action."""
    legal: tuple[Action, ...]
    outcome: Outcome


def play_match(match: MatchState, rng: random.Random, policy: Policy) -> Iterator[Step]:
    """Play a match to its end from where it stands; yields after each action, before the next deal."""
    while match.phase != Phase.MATCH_OVER:
        if match.phase in (Phase.NOT_STARTED, Phase.ROUND_OVER):
            start_round(match, shuffled(rng))
        seat = round_of(match).turn
        legal = legal_actions(match, seat)
        sizes = [hand.bit_count() for hand in round_of(match).hands]
        yield Step(seat, sizes, legal, apply(match, seat, policy(rng, legal)))


class Table(NamedTuple):
    """What a seeded game is played with."""

    players: int
    options: RuleOptions

    def __str__(self) -> str:
        ace = "high" if self.options.ace_high else "low"
        last = "discarded" if self.options.discard_to_win else "free"
        return f"{self.players}-seats-ace-{ace}-last-card-{last}"


TABLES = tuple(
    Table(players, RuleOptions(target_score=20, ace_high=ace_high, discard_to_win=discard_to_win))
    for players in (2, 3, 4)
    for ace_high in (False, True)
    for discard_to_win in (False, True)
)
GAMES_PER_TABLE = 84
"""So that the twelve tables together play 1,008 games."""


def seeded_games(table: Table) -> Iterator[tuple[MatchState, Iterator[Step]]]:
    """The games of a table, each a match before its first deal and the steps that play it to its end."""
    for seed in range(GAMES_PER_TABLE):
        match = new_match(table.players, table.options, Guards(max_turns_per_round=200))
        policy = play_greedy if seed % 2 else play_random
        yield match, play_match(match, random.Random(seed), policy)
