"""Reading the recorded vectors: one JSON object a line, cards as texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    Card,
    discard_action,
    lay_off_action,
    meld_action,
    parse_card,
)

_DATA = Path(__file__).parent / "data"


def lines_of(name: str) -> list[dict[str, Any]]:
    with (_DATA / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def cards_from(texts: list[str]) -> list[Card]:
    return [parse_card(text) for text in texts]


def action_from(recorded: dict[str, Any]) -> Action:
    match recorded:
        case {"t": "draw_stock"}:
            return DRAW_STOCK
        case {"t": "draw_discard"}:
            return DRAW_DISCARD
        case {"t": "meld", "cards": cards}:
            return meld_action(cards_from(cards))
        case {"t": "lay_off", "meld": number, "cards": cards}:
            return lay_off_action(number, cards_from(cards))
        case {"t": "discard", "card": card}:
            return discard_action(parse_card(card))
    raise AssertionError(f"an action that the vectors' description does not know: {recorded}")
