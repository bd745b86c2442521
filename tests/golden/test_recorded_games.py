"""Whole matches that an independent implementation played by the same rules; every line must agree."""

from typing import Any

import pytest

from golden.vectors import action_from, cards_from, lines_of
from rami_engine import (
    Guards,
    IllegalAction,
    MatchState,
    Phase,
    RoundResult,
    RuleOptions,
    apply,
    cards_of,
    format_card,
    legal_actions,
    legal_actions_for,
    new_match,
    seat_view,
    start_round,
)

GAMES = lines_of("games.jsonl")


def texts(cards: tuple[int, ...] | list[int]) -> list[str]:
    return [format_card(card) for card in cards]


def table_of(match: MatchState) -> dict[str, Any]:
    """The table in the shape of the vectors' `after`."""
    current = match.round
    assert current is not None
    is_over = match.phase in (Phase.ROUND_OVER, Phase.MATCH_OVER)
    return {
        "phase": "over" if is_over else match.phase.name.lower(),
        "turn": current.turn,
        "hands": [texts(cards_of(hand)) for hand in current.hands],
        "stock": current.stock_count,
        "discards": texts(current.discards),
        "melds": [texts(cards_of(meld)) for meld in current.melds],
    }


def replay_refusal(match: MatchState, step: dict[str, Any]) -> None:
    before = match.copy()
    with pytest.raises(IllegalAction) as refused:
        apply(match, step["seat"], action_from(step["action"]))
    assert refused.value.reason == step["error"]
    assert match == before


def replay_step(match: MatchState, step: dict[str, Any]) -> RoundResult | None:
    seat = step["seat"]
    legal = legal_actions(match, seat)
    assert len(legal) == step["legal"]
    assert legal == legal_actions_for(seat_view(match, seat))
    if "legal_list" in step:
        assert list(legal) == [action_from(recorded) for recorded in step["legal_list"]]
    outcome = apply(match, seat, action_from(step["action"]))
    if "after" in step:
        assert table_of(match) == step["after"]
    return outcome.round_end


@pytest.mark.parametrize("game", GAMES, ids=[game["id"] for game in GAMES])
def test_a_recorded_game_is_played_alike(game: dict[str, Any]) -> None:
    guards = Guards(max_turns_per_round=game["max_turns_per_round"])
    match = new_match(game["players"], RuleOptions(**game["options"]), guards)
    for recorded in game["rounds"]:
        started = start_round(match, bytes(cards_from(recorded["deck"])))
        assert started.number == recorded["number"]
        ends = []
        for step in recorded["steps"]:
            if "error" in step:
                replay_refusal(match, step)
            else:
                ends.append(replay_step(match, step))
        assert ends[:-1] == [None] * (len(ends) - 1)
        end = ends[-1]
        assert end is not None
        assert recorded["end"] == {
            "reason": end.reason.name,
            "winner": end.winner,
            "points": end.points,
            "hand_points": list(end.hand_points),
            "scores": list(end.scores),
        }
    assert match.phase == Phase.MATCH_OVER
    assert match.winner == game["winner"]


def test_the_recorded_games_are_all_there() -> None:
    assert len(GAMES) == 118
    assert sum(len(played["steps"]) for game in GAMES for played in game["rounds"]) == 18_922
