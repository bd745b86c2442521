"""The part `engine`: the rules alone, in this process, beside rummies that people would take instead.

Everybody plays at random, asking for the full list of legal actions before every step. OpenSpiel's gin rummy is C++
driven from Python, RLCard's is Python. Both come with the extra `yardsticks`; without them their ratios are missing.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import random
import time
from typing import TYPE_CHECKING, Any, Final

from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import Site
from rami_cli.bench_part import Part
from rami_engine import (
    FULL_DECK,
    Guards,
    Mask,
    Phase,
    RuleOptions,
    apply,
    best_split,
    cards_of,
    legal_actions,
    mask_of,
    new_match,
    start_round,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rami_cli.bench_part import Bench

DECK: Final = tuple(cards_of(FULL_DECK))
HAND: Final = 11
HANDS: Final = 1_000
NOT_INSTALLED: Final = "not installed: pip install 'rami[yardsticks]'"


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    rivals: dict[str, tuple[Callable[[float], float], float]] = {}
    if importlib.util.find_spec("pyspiel") is not None:
        rivals["OpenSpiel gin rummy"] = (open_spiel_rate, 5.0)
    if importlib.util.find_spec("rlcard") is not None:
        rivals["RLCard gin rummy"] = (rlcard_rate, 20.0)
    beside = {
        name: Figure("steps of random play", "1/s", f"1/s, {name}", goal, more_is_better=True)
        for name, (_, goal) in rivals.items()
    }
    alone = Figure("steps of random play", "1/s", more_is_better=True)
    splits = Figure(
        f"best split of hands of {HAND}",
        "1/s",
        goal=20_000.0,
        more_is_better=True,
        note="every hand for the first time",
    )
    async with Site():
        for number in bench.rounds("ours", *rivals, "splits"):
            bench.step("random play")
            ours = await asyncio.to_thread(our_rate, bench.seconds, number)
            alone.add(ours)
            for name, (rate, _) in rivals.items():
                bench.step(name)
                beside[name].add(ours, await asyncio.to_thread(rate, bench.seconds))
            bench.step("best splits")
            splits.add(await asyncio.to_thread(split_rate, bench.seconds, number))
    missing = [
        Figure("steps of random play", "1/s", f"1/s, {name}", note=NOT_INSTALLED)
        for name in ("OpenSpiel gin rummy", "RLCard gin rummy")
        if name not in rivals
    ]
    for name, figure in beside.items():
        figure.name = f"steps of random play beside {name}"
    for figure in missing:
        figure.name = f"steps of random play beside {figure.yardstick.removeprefix('1/s, ')}"
    return [alone, *beside.values(), *missing, splits]


def our_rate(seconds: float, seed: int) -> float:
    """Steps of matches of two in a second of this thread's processor time."""
    chance = random.Random(f"engine/{seed}")  # noqa: S311 - a load, not a secret
    steps, began = 0, time.thread_time()
    while time.thread_time() - began < seconds:
        match = new_match(2, RuleOptions(), Guards())
        while match.phase is not Phase.MATCH_OVER:
            if match.phase in (Phase.NOT_STARTED, Phase.ROUND_OVER):
                deck = list(DECK)
                chance.shuffle(deck)
                start_round(match, bytes(deck))
                continue
            assert match.round is not None
            seat = match.round.turn
            legal = legal_actions(match, seat)
            apply(match, seat, legal[int(chance.random() * len(legal))])
            steps += 1
    return steps / (time.thread_time() - began)


def split_rate(seconds: float, seed: int) -> float:
    """Hands taken apart in a second of processor time. None is seen twice, so that nothing kept could help."""
    chance = random.Random(f"splits/{seed}")  # noqa: S311 - see our_rate
    done, used = 0, 0.0
    seen: set[Mask] = set()
    while used < seconds:
        hands = {mask_of(chance.sample(DECK, HAND)) for _ in range(HANDS)} - seen
        seen |= hands
        began = time.thread_time()
        for hand in hands:
            best_split(hand, ace_high=False)
        used += time.thread_time() - began
        done += len(hands)
    return done / used


def open_spiel_rate(seconds: float) -> float:
    """Players' steps of OpenSpiel's gin rummy likewise; dealing counts as no step, and costs its time."""
    pyspiel: Any = importlib.import_module("pyspiel")
    game = pyspiel.load_game("gin_rummy")
    chance = random.Random(1)  # noqa: S311 - see our_rate
    steps, began = 0, time.thread_time()
    while time.thread_time() - began < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            steps += not state.is_chance_node()
            legal = state.legal_actions()
            state.apply_action(legal[int(chance.random() * len(legal))])
    return steps / (time.thread_time() - began)


def rlcard_rate(seconds: float) -> float:
    """Steps of RLCard's gin rummy likewise."""
    rlcard: Any = importlib.import_module("rlcard")
    table = rlcard.make("gin-rummy", config={"seed": 1})
    chance = random.Random(1)  # noqa: S311 - see our_rate
    steps, began = 0, time.thread_time()
    while time.thread_time() - began < seconds:
        state, _ = table.reset()
        while not table.is_over():
            legal = list(state["legal_actions"])
            state, _ = table.step(legal[int(chance.random() * len(legal))])
            steps += 1
    return steps / (time.thread_time() - began)


ENGINE: Final = Part("engine", measure)

__all__ = ["ENGINE"]
