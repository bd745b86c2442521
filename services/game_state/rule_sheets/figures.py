"""The variables of the rule sheets: numbers and cards, taken from the engine for a room's options and guards.

A translation writes no figure itself, so it cannot say anything else than the engine plays. Examples are
given as the data writes them and shown in the letters of each language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fluent.runtime.types import fluent_number

from rami_engine import (
    ACE,
    DECK_MELDS,
    DECK_SIZE,
    MAX_PLAYERS,
    MAX_TARGET_SCORE,
    MIN_PLAYERS,
    MIN_TARGET_SCORE,
    RANKS,
    SUITS,
    MeldKind,
    RuleOptions,
    card_points,
    hand_size,
    mask_of,
    mask_points,
    meld_kind,
    parse_card,
    parse_cards,
    starting_seat,
    starting_stock,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rami_engine import Card, Guards

SUIT_SYMBOLS: Final = "♣♦♥♠"
"""How sheets show the suits, in the order of the engine's SUITS."""

EXAMPLES: Final[Mapping[str, str]] = {
    "set-example": "9C 9D 9S",
    "run-example": "5H 6H 7H",
    "ace-run": "QH KH AH",
    "ace-below": "AH 2H 3H",
    "ace-around": "KH AH 2H",
    "lay-off-run": "6C 7C 8C",
    "lay-off-cards": "5C 9C",
    "hand-example": "KH 9C AS",
    "letter-example": "QH",
}
"""Cards that the sheets show, by variable, as the data writes them."""

OPENING_POINTS: Final = 51
"""The opening requirement of a variant that is not played; the engine knows no such figure."""

STALL_TURNS: Final = 4
"""Own turns running in which a bot may take the discard without laying a card."""

NEAR_RANKS: Final = 2
"""A card is isolated for Easy when no card of its suit in the hand is so near to it in rank."""

UNGROUPED_BELOW: Final = 10_000
"""Numbers of up to four digits are written without separator, as most of the languages demand."""


def room_numbers(options: RuleOptions) -> dict[str, int]:
    """The numbers that differ between rooms, by variable."""
    example = mask_of(parse_cards(EXAMPLES["hand-example"]))
    return {
        "target-score": options.target_score,
        "ace-points": card_points(ACE, options.ace_high),
        "hand-points": mask_points(example, options.ace_high),
    }


def fixed_numbers(guards: Guards) -> dict[str, int]:
    """The numbers that are the same in every room of a service, by variable."""
    meld_sizes = [(meld_kind(meld), meld.bit_count()) for meld in DECK_MELDS]
    return {
        "min-players": MIN_PLAYERS,
        "max-players": MAX_PLAYERS,
        "deck-size": DECK_SIZE,
        "hand-two": hand_size(2),
        "hand-more": hand_size(3),
        "stock-two": starting_stock(2),
        "stock-three": starting_stock(3),
        "stock-four": starting_stock(4),
        "first-seat": starting_seat(1, MIN_PLAYERS),
        "first-meld": 1,
        "min-meld": min(size for _, size in meld_sizes),
        "max-set": max(size for kind, size in meld_sizes if kind is MeldKind.SET),
        "max-run": max(size for kind, size in meld_sizes if kind is MeldKind.RUN),
        "low-ace-points": card_points(ACE, ace_high=False),
        "high-ace-points": card_points(ACE, ace_high=True),
        "face-points": card_points(parse_card("KH"), ace_high=False),
        "min-target": MIN_TARGET_SCORE,
        "max-target": MAX_TARGET_SCORE,
        "default-target": RuleOptions().target_score,
        "round-turns": guards.max_turns_per_round,
        "match-turns": guards.max_turns_per_match,
        "opening-points": OPENING_POINTS,
        "stall-turns": STALL_TURNS,
        "near-ranks": NEAR_RANKS,
    }


def card_texts(letters: Mapping[str, str]) -> dict[str, str]:
    """Everything that the sheets show of cards, by variable.

    `letters` says how the language writes ranks; those without an entry are written as in the data.
    """
    shown = {name: show_cards(parse_cards(text), letters) for name, text in EXAMPLES.items()}
    ranks = [letters.get(rank, rank) for rank in RANKS]
    return shown | {
        "rank-order": ", ".join(ranks),
        "lowest-rank": ranks[0],
        "data-ten": RANKS[8],
        "data-faces": ", ".join(RANKS[9:]),
        "data-suits": ", ".join(SUITS),
        "letter-example-data": EXAMPLES["letter-example"],
    }


def room_variables(options: RuleOptions) -> dict[str, object]:
    """The variables that differ between rooms, as Fluent takes them; switches are "on" or "off"."""
    switches = {"discard-to-win": "on" if options.discard_to_win else "off"}
    return _written(room_numbers(options)) | switches


def fixed_variables(guards: Guards, letters: Mapping[str, str]) -> dict[str, object]:
    """The variables that are the same in every room of a service, as Fluent takes them."""
    return _written(fixed_numbers(guards)) | card_texts(letters)


def show_cards(cards: Iterable[Card], letters: Mapping[str, str]) -> str:
    """Cards as a player of the language reads them, such as "D♥ R♥ As♥" in French."""
    return " ".join(_show_card(card, letters) for card in cards)


def _written(numbers: Mapping[str, int]) -> dict[str, object]:
    return {name: fluent_number(value, useGrouping=value >= UNGROUPED_BELOW) for name, value in numbers.items()}


def _show_card(card: Card, letters: Mapping[str, str]) -> str:
    suit, rank = divmod(card, len(RANKS))
    return letters.get(RANKS[rank], RANKS[rank]) + SUIT_SYMBOLS[suit]
