"""Whole matches over gRPC against a running cluster, checked by somebody who trusts nothing.

Every message that a seat receives is followed by an engine of its own: hands, stock, discards and melds must be what
the events say, hidden cards must stay hidden until their round is over, and each deck must follow from the revealed
seed, the commitment and everybody's entropy.
"""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration

from rami.game.v1 import event_pb2, game_service_pb2_grpc, replay_pb2, room_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami.matchmaking.v1 import player_service_pb2, player_service_pb2_grpc
from rami_engine import (
    Action,
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    deck_for_round,
    legal_actions,
    new_match,
    start_round,
    verify_link,
    verify_replay,
)
from rami_wire import (
    action_from_proto,
    options_to_proto,
    replay_record,
    result_from_proto,
    to_cards,
)

if TYPE_CHECKING:
    from support.cluster import Cluster

Metadata = tuple[tuple[str, str], ...]


def request_id() -> str:
    return str(uuid.uuid4())


@dataclass
class SeatRecord:
    """Everything one seat has received, in order."""

    seat: int
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    events: list[event_pb2.Event] = field(default_factory=list)
    legal: dict[int, list[Action]] = field(default_factory=dict)


async def guest(cluster: Cluster, name: str) -> Metadata:
    async with grpc.aio.insecure_channel(cluster.matchmaking) as channel:
        stub = player_service_pb2_grpc.PlayerServiceStub(channel)
        answer = await stub.CreateGuest(player_service_pb2.CreateGuestRequest(display_name=name), timeout=10)
    return (("authorization", f"Bearer {answer.token}"),)


async def play_seat(
    stub: game_service_pb2_grpc.GameServiceAsyncStub, room_id: str, me: Metadata, record: SeatRecord
) -> None:
    """Play random legal actions until the match has ended."""
    rng = random.Random(record.seat)
    stream = stub.Play(metadata=me)
    await stream.write(pb.PlayRequest(hello=pb.PlayHello(room_id=room_id, legal_actions=True)))
    version = 0
    try:
        async for news in stream:
            if news.HasField("snapshot"):
                assert not record.opened.is_set(), "an undisturbed stream needs one snapshot"
                assert not news.snapshot.HasField("view")
                version = news.snapshot.room.version
                record.opened.set()
            for event in news.events:
                assert event.version == version + 1
                version = event.version
                record.events.append(event)
            for result in news.results:
                assert not result.HasField("error"), result
                assert result.version <= version
            if any(change.HasField("match_ended") for event in news.events for change in event.changes):
                return
            if news.legal_actions.version == version and news.legal_actions.actions:
                legal = news.legal_actions.actions
                record.legal[version] = [action_from_proto(action) for action in legal]
                await stream.write(
                    pb.PlayRequest(
                        action=pb.PlayAction(
                            request_id=request_id(), expected_version=version, action=rng.choice(legal)
                        )
                    )
                )
    finally:
        stream.cancel()
    raise AssertionError("the stream ended before the match")


async def download(
    stub: game_service_pb2_grpc.GameServiceAsyncStub, room_id: str, me: Metadata, page_size: int
) -> tuple[pb.GetReplayResponse, list[replay_pb2.ReplayRound]]:
    token = ""
    rounds: list[replay_pb2.ReplayRound] = []
    while True:
        page = await stub.GetReplay(
            pb.GetReplayRequest(room_id=room_id, page_size=page_size, page_token=token), metadata=me, timeout=20
        )
        assert len(page.rounds) <= page_size
        rounds.extend(page.rounds)
        token = page.next_page_token
        if not token:
            return page, rounds


class Follower:
    """An engine that follows what one seat received; decks come from the seeds revealed at the end."""

    def __init__(self, match: MatchState, seeds: dict[int, bytes], entropies: list[bytes], record: SeatRecord) -> None:
        self.match = match
        self.seeds = seeds
        self.entropies = entropies
        self.record = record

    def follow(self) -> None:
        for event in self.record.events:
            for change in event.changes:
                self._take(change)
            self._compare_turn(event)
            legal = self.record.legal.get(event.version)
            if legal is not None:
                assert tuple(legal) == legal_actions(self.match, self.record.seat)

    def _take(self, change: event_pb2.Change) -> None:
        kind = change.WhichOneof("kind")
        seat = self.record.seat
        if kind == "round_started":
            number = change.round_started.round_number
            start_round(self.match, deck_for_round(self.seeds[number], number, self.entropies))
            assert self.match.round is not None
            assert list(change.round_started.hand) == to_cards(self.match.round.hands[seat])
            assert change.round_started.up_card == self.match.round.discards[0] + 1
            assert change.round_started.stock_size == self.match.round.stock_count
        elif kind == "action_played":
            played = change.action_played
            outcome = apply(self.match, played.seat, action_from_proto(played.action))
            if played.HasField("drawn"):
                # Only the own draws, and what lay face up, may be named.
                assert played.seat == seat or played.action.HasField("draw_discard")
                assert played.drawn - 1 == outcome.drawn
            else:
                assert outcome.drawn is None or played.seat != seat
        elif kind == "round_ended":
            assert result_from_proto(change.round_ended.result) == self.match.results
            assert change.round_ended.seed == self.seeds[change.round_ended.result.round_number]

    def _compare_turn(self, event: event_pb2.Event) -> None:
        if event.HasField("turn"):
            assert self.match.round is not None
            assert event.turn.seat == self.match.round.turn
            assert self.match.phase in (Phase.DRAW, Phase.PLAY)


@pytest.mark.parametrize(
    ("players", "options", "bots"),
    [
        (2, RuleOptions(60), 0),
        (3, RuleOptions(60, ace_high=True), 0),
        (4, RuleOptions(60, discard_to_win=True), 0),
        (2, RuleOptions(60, ace_high=True, discard_to_win=True), 1),
        (3, RuleOptions(60), 2),
        (4, RuleOptions(60), 1),
    ],
)
async def test_every_message_of_a_match_is_what_the_rules_make(
    cluster: Cluster, players: int, options: RuleOptions, bots: int
) -> None:
    people = [await guest(cluster, f"Player {number}") for number in range(players - bots)]
    async with grpc.aio.insecure_channel(cluster.game) as channel:
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        levels = ["easy", "normal", "hard"]
        room = (
            await stub.CreateRoom(
                pb.CreateRoomRequest(
                    request_id=request_id(),
                    options=room_pb2.RoomOptions(
                        seats=players,
                        rules=options_to_proto(options),
                        visibility=room_pb2.VISIBILITY_PUBLIC,
                        bot_pace=Duration(),
                    ),
                    bots=[pb.BotSeat(seat=players - 1 - n, bot=levels[n]) for n in range(bots)],
                ),
                metadata=people[0],
                timeout=10,
            )
        ).room
        entropies = [os.urandom(1 + 31 * (number % 2)) for number in range(len(people))]
        for me, entropy in zip(people, entropies, strict=True):
            if me is not people[0]:
                await stub.JoinRoom(
                    pb.JoinRoomRequest(request_id=request_id(), room_id=room.room_id), metadata=me, timeout=10
                )
            await stub.SetEntropy(
                pb.SetEntropyRequest(request_id=request_id(), room_id=room.room_id, entropy=entropy),
                metadata=me,
                timeout=10,
            )
        records = [SeatRecord(seat) for seat in range(len(people))]
        playing = [
            asyncio.create_task(play_seat(stub, room.room_id, me, record))
            for me, record in zip(people, records, strict=True)
        ]
        await asyncio.gather(*(record.opened.wait() for record in records))
        await stub.StartMatch(
            pb.StartMatchRequest(request_id=request_id(), room_id=room.room_id), metadata=people[0], timeout=10
        )
        await asyncio.gather(*playing)
        page, rounds = await download(stub, room.room_id, people[0], page_size=1)

    replay = replay_record(page.header, rounds)
    verified = verify_replay(replay)
    assert verified.winner is not None
    assert replay.commitment == room.commitment
    padded = [*entropies, *([b""] * bots)]
    assert list(replay.entropies) == padded
    assert verify_link(rounds[0].seed, room.commitment)
    seeds = {each.round_number: each.seed for each in rounds}
    for record in records:
        Follower(new_match(players, options, Guards()), seeds, padded, record).follow()
