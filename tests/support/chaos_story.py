"""Journals made up for tests of the checker: a match of two people and a spectator, told step by step."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_wire import action_to_proto
from support.chaos_checker import check
from support.chaos_evidence import OK
from support.chaos_journal import Answered, Asked, AtRest, Ended, Lost, Opened, Record, Replayed, Seated, Told
from support.chaos_truth import SPECTATOR
from support.game_cluster import request_id
from support.matches import lively_choice, new_room

if TYPE_CHECKING:
    from support.chaos_checker import Report

SEATS = {"ann": 0, "bob": 1, "eve": SPECTATOR}


class Story:
    """What happens, and the records of it. Everybody watches from the start of the match on."""

    def __init__(self) -> None:
        self.room = new_room(["ann", "bob"])
        self.records: list[Record] = []
        self.at = 0.0
        self._chance = random.Random(1)
        self._numbers = 0
        self._streams: dict[str, int] = {}
        self._told: dict[str, int] = {}
        for who, seat in SEATS.items():
            self.write(Seated(self.tick(), self.room.room_id, who, seat))
            self.open(who)
            self.tell(who, pb.PlayResponse(snapshot=self.room.snapshot(self.viewer(who), rewound=False)))
        self.room.start()
        self.tell_all()

    def tick(self) -> float:
        """A moment later."""
        self.at += 0.01
        return self.at

    def write(self, record: Record) -> None:
        """Add a record."""
        self.records.append(record)

    def viewer(self, who: str) -> int | None:
        """The seat of somebody as projections want it."""
        return None if SEATS[who] == SPECTATOR else SEATS[who]

    def open(self, who: str, cursor: bytes = b"") -> None:
        """Somebody opens a stream; the one before has ended."""
        if who in self._streams:
            self.write(Ended(self.tick(), self._streams[who], "UNAVAILABLE"))
        self._numbers += 1
        self._streams[who] = self._numbers
        self.write(Opened(self.tick(), self.room.room_id, who, self._numbers, cursor, 0))

    def tell(self, who: str, message: pb.PlayResponse) -> None:
        """A message comes on somebody's stream."""
        self.write(Told(self.tick(), self._streams[who], message.SerializeToString()))
        self._told[who] = self.room.version

    def news(self, who: str) -> pb.PlayResponse:
        """Every step that somebody has not been told of."""
        return pb.PlayResponse(events=self.room.events_after(self._told[who], self.viewer(who)))

    def tell_all(self) -> None:
        """Everybody is told what is new."""
        for who in SEATS:
            self.tell(who, self.news(who))

    def ask(self, seat: int | None = None) -> tuple[int, Asked]:
        """The seat to move asks for an action; its number and the record of it. Nothing has happened yet."""
        mover, action = lively_choice(self.room, self._chance)
        assert seat in (None, mover)
        self._numbers += 1
        asked = Asked(
            self.tick(),
            self.room.room_id,
            ("ann", "bob")[mover],
            self._numbers,
            request_id(),
            self.room.version,
            action_to_proto(action).SerializeToString(),
            0,
        )
        self.write(asked)
        self._action = action
        return mover, asked

    def play(self) -> Asked:
        """The seat to move asks for an action, which is applied; nobody has been told."""
        mover, asked = self.ask()
        self.apply(mover, event_pb2.ACTION_SOURCE_PLAYER)
        return asked

    def apply(self, seat: int, source: event_pb2.ActionSource.ValueType) -> None:
        """The action that was asked for last is applied."""
        self.room.play(seat, self._action, source)

    def acknowledge(self, asked: Asked) -> None:
        """Whoever asked is told that the latest step is the answer."""
        event = self.room.events_after(self.room.version - 1, SEATS[asked.who])[0]
        self.write(Answered(self.tick(), asked.call, OK, event=event.SerializeToString()))

    def refuse(self, asked: Asked, code: str, reason: str, current_version: int = -1) -> None:
        """Whoever asked is refused."""
        self.write(Answered(self.tick(), asked.call, code, reason, current_version))

    def go_on(self, actions: int = 1) -> None:
        """So many actions as they should be: asked for, applied, told, acknowledged."""
        for _ in range(actions):
            asked = self.play()
            self.tell_all()
            self.acknowledge(asked)

    def lose(self, steps: int) -> None:
        """The store loses the latest steps."""
        self.write(Lost(self.tick()))
        self.room.rewind(self.room.version - steps)
        self._told = {who: min(version, self.room.version) for who, version in self._told.items()}

    def end(self) -> None:
        """The match goes on to its end."""
        while self.room.match is not None and self.room.match.winner is None:
            self.go_on()

    def judge(self, *, replay: pb.GetReplayResponse | None = None, final_version: int = 0) -> Report:
        """What the checker says, with the record of the room as it is unless another is given."""
        room = self.room
        whole = replay or pb.GetReplayResponse(header=room.replay_header(), rounds=room.rounds)
        self.write(AtRest(self.tick(), room.room_id, final_version or room.version))
        self.write(Replayed(self.tick(), room.room_id, whole.SerializeToString()))
        return check(self.records)
