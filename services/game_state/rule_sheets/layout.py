"""What a rule sheet is made of: its languages, its sections in reading order, and the texts of each.

A translation has exactly the texts named here. What they may mention is in `figures`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rami.game.v1 import rule_sheet_service_pb2 as pb

if TYPE_CHECKING:
    from rami.game.v1.rule_sheet_service_pb2 import RuleSectionKind

TITLE_KEY: Final = "title"

LETTER_KEYS: Final = {
    "T": "rank-ten",
    "J": "rank-jack",
    "Q": "rank-queen",
    "K": "rank-king",
    "A": "rank-ace",
}
"""The texts by which a language's players write the ranks that the data writes as letters."""


class SectionLayout(NamedTuple):
    """A section: what it is about and the texts of its heading and paragraphs."""

    kind: RuleSectionKind.ValueType
    heading: str
    paragraphs: tuple[str, ...]


SECTIONS: Final = (
    SectionLayout(pb.RULE_SECTION_KIND_GOAL, "goal-heading", ("goal-aim", "goal-match")),
    SectionLayout(
        pb.RULE_SECTION_KIND_SET_UP,
        "set-up-heading",
        (
            "set-up-deck",
            "set-up-letters",
            "set-up-seats",
            "set-up-deal",
            "set-up-stock",
            "set-up-start",
        ),
    ),
    SectionLayout(
        pb.RULE_SECTION_KIND_TURN,
        "turn-heading",
        ("turn-order", "turn-draw", "turn-play", "turn-discard", "turn-return"),
    ),
    SectionLayout(
        pb.RULE_SECTION_KIND_LEGAL_ACTIONS,
        "legal-heading",
        (
            "legal-set",
            "legal-run",
            "legal-ace",
            "legal-meld",
            "legal-lay-off",
            "legal-table",
            "legal-duties",
            "legal-last-card",
            "legal-refused",
        ),
    ),
    SectionLayout(
        pb.RULE_SECTION_KIND_SCORING,
        "scoring-heading",
        ("scoring-cards", "scoring-example", "scoring-round", "scoring-others"),
    ),
    SectionLayout(
        pb.RULE_SECTION_KIND_GAME_END,
        "end-heading",
        ("end-out", "end-stock", "end-stock-winner", "end-match", "end-next"),
    ),
    SectionLayout(
        pb.RULE_SECTION_KIND_SPECIAL_CASES,
        "special-heading",
        (
            "special-options",
            "special-room",
            "special-opening",
            "special-jokers",
            "special-fixed",
            "special-round-limit",
            "special-match-limit",
            "special-shuffle",
        ),
    ),
    SectionLayout(
        pb.RULE_SECTION_KIND_BOTS,
        "bots-heading",
        ("bots-sight", "bots-easy", "bots-normal", "bots-hard", "bots-stall", "bots-steady"),
    ),
)

KEYS: Final = frozenset(
    {TITLE_KEY, *LETTER_KEYS.values()}
    | {section.heading for section in SECTIONS}
    | {key for section in SECTIONS for key in section.paragraphs}
)
"""Every text that a translation must have, and no other."""
