"""The bots there are, and that each decides the same in every process."""

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import rami_bots
from rami_bots import BOTS, UnknownBot, find_bot, time_enough
from rami_engine import Guards, Phase, RuleOptions, apply, format_action, legal_actions_for, new_match, start_round
from unit.bots.asking import BOT_IDS, time_for, view_of_turn
from unit.engine.positions import position, shuffled

TESTS = Path(__file__).parents[2]


def test_the_bots_stand_weakest_first_and_are_found_by_id() -> None:
    assert tuple(bot.id for bot in BOTS) == BOT_IDS
    assert [bot.display_name for bot in BOTS] == ["Easy", "Normal", "Hard"]
    assert all(find_bot(bot.id) is bot and bot.description.endswith(".") for bot in BOTS)
    assert [bot.quick for bot in BOTS] == [True, True, False]


@pytest.mark.parametrize("unknown", ["", "Easy", "expert", "easy "])
def test_an_unknown_id_is_an_error(unknown: str) -> None:
    with pytest.raises(UnknownBot):
        find_bot(unknown)


def test_the_public_names_are_these() -> None:
    assert rami_bots.__all__ == [
        "BOTS",
        "Bot",
        "Considered",
        "Decision",
        "OutOfTime",
        "Policy",
        "UnknownBot",
        "decide",
        "find_bot",
        "time_enough",
    ]


@pytest.mark.parametrize("bot", BOT_IDS)
def test_a_spectator_has_nothing_to_decide(bot: str) -> None:
    match = position("2C 3C 4C", "7D", discards="6D", phase=Phase.PLAY)
    view = view_of_turn(match)
    with pytest.raises(IndexError):
        find_bot(bot).policy(view, (), 0, time_enough)


def fingerprint_of_games() -> str:
    """A digest of everything that the bots do in some rounds, hands of every number of seats included."""
    rng = random.Random(4)
    digest = hashlib.sha256()
    for bot in BOTS:
        for players in (2, 3, 4):
            match = new_match(players, RuleOptions(target_score=1), Guards(max_turns_per_round=24))
            start_round(match, shuffled(rng))
            while match.phase in (Phase.DRAW, Phase.PLAY):
                view = view_of_turn(match)
                action = bot.policy(view, legal_actions_for(view), rng.getrandbits(64), time_for(8))
                digest.update(format_action(action).encode())
                assert view.viewer is not None
                apply(match, view.viewer, action)
    return digest.hexdigest()


def test_decisions_are_the_same_in_every_process() -> None:
    code = "from unit.bots.test_bots import fingerprint_of_games; print(fingerprint_of_games())"
    expected = fingerprint_of_games()
    for hash_seed in ("0", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
        result = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == expected
