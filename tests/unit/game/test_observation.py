"""What is counted of committed steps: commits, turns and how long they took, autopilot, matches."""

from __future__ import annotations

import random

import pytest
from prometheus_client import CollectorRegistry

from game_state.observation import StepObserver
from game_state.room import Status
from rami_engine import DRAW_STOCK, RuleOptions
from rami_kit.metrics import GameMetrics
from support.game_tables import Table, table_options


class Observed(Table):
    """A table whose steps are observed, as those of one process are."""

    def __init__(self, *holders: str, **options: object) -> None:
        self.registry = CollectorRegistry()
        self.observer = StepObserver(GameMetrics(self.registry))
        self.seen = 0
        super().__init__(holders, options=table_options(**options))
        self.observe()

    def observe(self) -> None:
        """The steps that have come since; the room as it is now stands for how it was after each."""
        for step in self.log[self.seen :]:
            self.observer.committed(self.room, step)
        self.seen = len(self.log)

    def skip(self) -> None:
        """Other processes have committed the steps that have come since."""
        self.seen = len(self.log)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(name, labels) or 0.0

    def turns(self, actor: str) -> tuple[float, float]:
        """How many turns were timed, and the seconds they took together."""
        name = "rami_game_turn_seconds"
        return self.count(f"{name}_count", actor=actor), self.count(f"{name}_sum", actor=actor)

    def act(self, player: str | None, seconds: float) -> None:
        """An action after some time: a draw, or the discard of the lowest card."""
        self.wait(round(seconds * 1000))
        action = DRAW_STOCK if self.phase() == 1 else self.legal()[-1]
        if player is None:
            self.play_seat(action)
        else:
            self.play(player, action)
        self.observe()


def test_a_turn_lasts_from_the_discard_before_it_to_its_own() -> None:
    table = Observed("ann", "bot:easy")
    table.start()
    table.observe()
    table.act("ann", 2)
    assert table.turns("player") == (0, 0)
    table.act("ann", 1.5)
    assert table.turns("player") == (1, 3.5)
    table.act(None, 0.25)
    table.act(None, 0.25)

    assert table.turns("bot") == (1, 0.5)
    assert table.turns("player") == (1, 3.5)


def test_a_turn_of_which_others_committed_a_part_is_not_timed() -> None:
    table = Observed("ann", "bob")
    table.start()
    table.observe()
    table.act("ann", 1)
    table.wait(1_000)
    table.play("ann", table.legal()[-1])
    table.skip()
    table.act("bob", 1)
    table.act("bob", 1)
    assert table.turns("player") == (0, 0)
    table.act("ann", 2)
    table.act("ann", 2)

    assert table.turns("player") == (1, 4)


def test_the_coming_and_going_of_others_cuts_no_turn() -> None:
    table = Observed("ann", "bob", "cid")
    table.start()
    table.observe()
    table.act("ann", 1)
    table.leave("cid")
    table.observe()
    table.act("ann", 1)

    assert table.turns("player") == (1, 2)


def test_the_turn_that_ends_a_round_or_match_is_timed_too() -> None:
    table = Observed("ann", "bob", rules=RuleOptions(target_score=1))
    table.start()
    table.observe()
    while table.status() == Status.IN_MATCH:
        table.wait(1_000)
        table.play_on(random.Random(2), actions=1)
        table.observe()
    assert table.match.results is not None
    turns, seconds = table.turns("bot")

    assert turns >= table.match.turns > 0
    assert seconds == len(table.log) - 2, "every second of the match belongs to a turn"
    assert table.count("rami_game_matches_total", reason="target_score") == 1


def test_an_abandoned_turn_is_nobodys() -> None:
    table = Observed("ann", "bot:easy")
    table.start()
    table.observe()
    table.leave("ann")
    table.observe()

    assert table.turns("player") == table.turns("bot") == (0, 0)
    assert table.count("rami_game_matches_total", reason="abandoned") == 1


def test_commits_are_those_of_play_and_those_of_the_room() -> None:
    table = Observed("ann", "bob")
    table.start()
    table.wait(60_000)
    table.tick()
    table.observe()
    assert table.count("rami_game_commits_total", kind="room") == 3
    assert table.count("rami_game_autopilot_turns_total") == 1
    table.act("ann", 0)  # Ann is back: the step tells so before her action

    assert table.count("rami_game_commits_total", kind="play") == 1
    assert table.count("rami_game_commits_total", kind="room") == 3


@pytest.mark.parametrize("rooms", [3])
def test_what_is_remembered_of_turns_is_bounded(rooms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("game_state.observation.TURNS_FOLLOWED", 2)
    first = Observed("ann", "bob")
    for number in range(rooms):
        table = Table(["ann", "bob"])
        table.start()
        table.room.room_id = f"p0-{'abc'[number] * 16}"
        first.observer.committed(table.room, table.log[-1])

    assert len(first.observer._turns) == 2
