"""The reported failures of matchmaking, M1 to M6, against two replicas on one store. M7 is the matcher's alone."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rami.game.v1 import rules_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_kit import keys
from rami_kit.errors import from_rpc_error, reasons
from support.matchmaking_process import running_process
from support.queueing import Player, key_names, next_ticket, running_replica, states_of, store_client, until
from support.waiting import WAIT_SECONDS, eventually

if TYPE_CHECKING:
    import redis.asyncio

    from support.match_rooms import FakeMatchRooms
    from support.queueing import Replica

WAITING = messages.TICKET_STATE_WAITING
MATCHED = messages.TICKET_STATE_MATCHED
CANCELLED = messages.TICKET_STATE_CANCELLED


async def test_m1_a_player_who_queues_twice_at_once_has_one_ticket(store_url: str, rooms: FakeMatchRooms) -> None:
    players = [Player(f"player-{number}") for number in range(21)]
    async with (
        running_replica(store_url, rooms.target) as one,
        running_replica(store_url, rooms.target) as other,
    ):
        # Nobody is matched before everybody has queued: a player whose ticket is over may well queue again.
        async with rooms.away():
            pairs = await asyncio.gather(
                *(asyncio.gather(player.create(one), player.create(other)) for player in players)
            )
            for first, second in pairs:
                assert first.ticket_id == second.ticket_id
        outcomes = [
            asyncio.create_task(player.outcome(other, first.ticket_id))
            for player, (first, _) in zip(players, pairs, strict=True)
        ]
        # 21 players, tables of two: somebody is left, and nobody sits with himself.
        await eventually(lambda: sum(task.done() for task in outcomes) == 20, "twenty players are seated")
        assert len(rooms.rooms) == 10
        assert len(set(rooms.players)) == len(rooms.players) == 20
        for task in outcomes:
            task.cancel()


async def test_m2_everybody_of_a_crowd_gets_one_seat(store_url: str, rooms: FakeMatchRooms) -> None:
    players = [Player(f"player-{number}") for number in range(400)]
    async with (
        running_replica(store_url, rooms.target) as one,
        running_replica(store_url, rooms.target) as other,
    ):
        tickets = await asyncio.gather(
            *(player.play((one, other)[number % 2], [4]) for number, player in enumerate(players))
        )
        assert len(rooms.rooms) == 100
        assert all(len(room.seats) == 4 for room in rooms.rooms.values())
        assert sorted(rooms.players) == sorted(player.player_id for player in players)
        for player, ticket in zip(players, tickets, strict=True):
            assert (ticket.assignment.room_id, ticket.assignment.seat) == rooms.room_of(player.player_id)
        await eventually(lambda: no_live_tickets(one, other), "the gauges are back at 0")
        matched = [replica.sample("tickets_total", event="matched") for replica in (one, other)]
        assert sum(matched) == 400


@pytest.mark.parametrize("room_made", [False, True])
async def test_m3_game_down_and_matchmaker_killed_while_a_match_forms(
    store_url: str, rooms: FakeMatchRooms, room_made: bool
) -> None:
    ann, bob = Player("ann"), Player("bob")
    if room_made:
        rooms.hold_answers = asyncio.Event()
    else:
        rooms.open.clear()
    async with running_process(store_url, rooms.target) as killed:
        queued = await asyncio.gather(ann.create(killed), bob.create(killed))
        await eventually(lambda: rooms.calls > 0, "the room is asked for")
        await eventually(lambda: len(rooms.rooms) == room_made, "the room is there or not")
        await rooms.stop()
        await killed.kill()
    rooms.open.set()
    rooms.hold_answers = None
    await rooms.start()
    async with running_replica(store_url, rooms.target, claim_lease_seconds=60.0) as replica:
        after = await asyncio.gather(
            ann.outcome(replica, queued[0].ticket_id), bob.outcome(replica, queued[1].ticket_id)
        )
        assert replica.sample("claims_resumed_total") == 1
    assert len(rooms.rooms) == 1
    for player, before, now in zip((ann, bob), queued, after, strict=True):
        assert now.state == MATCHED
        assert now.create_time == before.create_time
        assert (now.assignment.room_id, now.assignment.seat) == rooms.room_of(player.player_id)


async def test_m4_cancelling_around_the_match_is_one_or_the_other(store_url: str, rooms: FakeMatchRooms) -> None:
    moments = random.Random(4)
    rooms.latency = lambda: moments.uniform(0.0, 0.05)
    # Those who are left behind are looked at in the end only, however long the others take.
    async with (
        running_replica(store_url, rooms.target, ticket_idle_seconds=300.0) as one,
        running_replica(store_url, rooms.target, ticket_idle_seconds=300.0) as other,
    ):
        delays = [moments.uniform(0.0, 0.15) for _ in range(56)]
        rounds = [leave_after(delay, number, one, other) for number, delay in enumerate(delays)]
        # Some certainly in time, some certainly too late.
        rounds += [leave_after(delay, 100 + number, one, other) for number, delay in enumerate([-1, -1, 1e9, 1e9])]
        outcomes = await asyncio.gather(*rounds)
        seated = set(rooms.players)
        for quitter, partner, outcome, partner_ticket in outcomes:
            if outcome == "cancelled":
                assert quitter.player_id not in seated
                assert partner.player_id not in seated
                assert (await partner.get(other, partner_ticket)).state == WAITING
            else:
                assert rooms.room_of(quitter.player_id)[0] == outcome
                assert rooms.room_of(partner.player_id)[0] == outcome
        assert all(len(room.seats) == 2 for room in rooms.rooms.values())
        assert {outcome == "cancelled" for _, _, outcome, _ in outcomes} == {True, False}


async def leave_after(seconds: float, number: int, one: Replica, other: Replica) -> tuple[Player, Player, str, str]:
    """Two players queue in a pool of their own; one leaves after a while, below 0 before the other queues. Who they
    are, what the quitter was told, and the other's ticket.
    """
    quitter, partner = Player(f"quitter-{number}"), Player(f"partner-{number}")
    rules = [rules_pb2.RuleOptions(target_score=number + 1)]
    ticket = await quitter.create(one, rules=rules)
    if seconds < 0:
        told = await leave(quitter, ticket.ticket_id, other)
        partner_ticket = await partner.create(other, rules=rules)
        return quitter, partner, told, partner_ticket.ticket_id
    partner_ticket = await partner.create(other, rules=rules)
    if seconds < WAIT_SECONDS:
        await asyncio.sleep(seconds)
    else:
        await quitter.outcome(one, ticket.ticket_id)
    return quitter, partner, await leave(quitter, ticket.ticket_id, other), partner_ticket.ticket_id


async def leave(quitter: Player, ticket_id: str, replica: Replica) -> str:
    """What a player who leaves is told: "cancelled", or the room."""
    try:
        cancelled = await quitter.cancel(replica, ticket_id)
    except grpc.aio.AioRpcError as error:
        peer = from_rpc_error(error)
        if peer.reason != reasons.ERROR_REASON_TICKET_MATCHED:
            raise
        return peer.metadata["room_id"]
    assert cancelled.state == CANCELLED
    return "cancelled"


async def test_m5_tickets_that_come_and_go_leave_nothing(store_url: str, rooms: FakeMatchRooms) -> None:
    async with (
        running_replica(store_url, rooms.target, ticket_keep_seconds=1.0) as replica,
        store_client(store_url) as client,
    ):

        async def come_and_go(worker: int) -> None:
            player = Player(f"player-{worker}")
            rules = [rules_pb2.RuleOptions(target_score=worker + 1)]
            for _ in range(15):
                ticket = await player.create(replica, rules=rules)
                assert await client.ttl(keys.ticket_key(ticket.ticket_id)) > 0
                await player.cancel(replica, ticket.ticket_id)

        await asyncio.gather(*(come_and_go(worker) for worker in range(20)))
        assert replica.sample("tickets_total", event="created") == 300
        assert replica.sample("tickets_total", event="cancelled") == 300
        assert await keys_without_end(client) == []
        await nothing_left(client)
        await eventually(lambda: no_live_tickets(replica), "the gauges are back at 0")
        assert rooms.rooms == {}


async def test_m5_tickets_that_are_matched_leave_nothing_that_stays(store_url: str, rooms: FakeMatchRooms) -> None:
    players = [Player(f"player-{number}") for number in range(20)]
    rooms.open.clear()
    async with (
        running_replica(store_url, rooms.target, ticket_keep_seconds=3.0) as replica,
        store_client(store_url) as client,
    ):
        tickets = await asyncio.gather(*(player.create(replica) for player in players))
        watches = [player.watch(replica, ticket.ticket_id) for player, ticket in zip(players, tickets, strict=True)]
        for watch in watches:
            await next_ticket(watch)
        # All watch before anything is over: what is over is not there for long.
        rooms.open.set()
        assert [states[-1] for states in await asyncio.gather(*map(states_of, watches))] == [MATCHED] * 20
        assert await keys_without_end(client) == []
        await nothing_left(client, keys.waits_key("2:100"))


async def test_m6_what_cannot_be_read_does_not_stop_the_loop(store_url: str, rooms: FakeMatchRooms) -> None:
    async with store_client(store_url) as client:
        await client.hset(keys.ticket_key("a" * 26), mapping={"s": "1", "t": "1", "p": "x", "d": b"\xff\xff"})
        await client.hset(keys.ticket_key("b" * 26), mapping={"s": "what"})
        await client.set(keys.ticket_key("c" * 26), "no hash")
        await client.zadd(keys.waiting_key(), {letter * 26: 9e15 for letter in "abcd"})
        async with running_replica(store_url, rooms.target, ticket_idle_seconds=4.0) as replica:
            await eventually(lambda: replica.sample("unreadable_records_total", kind="ticket") == 4, "all are seen")
            await client.xadd(keys.queue_changes_key(), {"i": "e" * 26, "d": b"\xff", "t": "1", "b": "0"})
            await client.xadd(keys.queue_changes_key(), {"i": b"\xff", "d": b"", "t": "soon"})
            await client.xadd(keys.queue_changes_key(), {"nonsense": "yes"})
            tickets = await asyncio.gather(Player("ann").play(replica), Player("bob").play(replica))
            assert [ticket.state for ticket in tickets] == [MATCHED, MATCHED]
            assert replica.sample("passes_failed_total", cause="defect") == 0
            await client.zadd(keys.waiting_key(), {letter * 26: 1 for letter in "abcd"})
            await until(lambda: is_empty(client, keys.waiting_key()), "they are dropped when they expire")


async def test_m6_a_live_ticket_that_is_none_holds_nobody_up(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")
    async with store_client(store_url) as client, running_replica(store_url, rooms.target) as replica:
        await client.rpush(keys.live_ticket_key(ann.player_id), "no id")
        ticket = await ann.create(replica)
        await client.delete(keys.live_ticket_key(ann.player_id))
        await client.rpush(keys.live_ticket_key(ann.player_id), "no id")
        assert (await bob.play(replica)).state == MATCHED
        assert (await ann.get(replica, ticket.ticket_id)).state == MATCHED
        assert replica.sample("passes_failed_total", cause="defect") == 0


async def test_m6_a_loop_that_is_dead_for_too_long_is_not_serving(store_url: str, rooms: FakeMatchRooms) -> None:
    async with (
        running_replica(store_url, rooms.target, match_dead_seconds=0.5) as replica,
        store_client(store_url) as client,
    ):
        health = health_pb2_grpc.HealthStub(replica.channel).Watch(
            health_pb2.HealthCheckRequest(service="rami.matchmaking.v1.MatchmakingService")
        )
        await until_health(health, health_pb2.HealthCheckResponse.SERVING)
        # The loop's own key is broken: every pass fails.
        await client.set(keys.queue_changes_key(), "no stream")
        # First, since a machine that stands still for a moment keeps passes away as well.
        await eventually(lambda: replica.sample("passes_failed_total", cause="defect") > 0, "a pass fails")
        await until_health(health, health_pb2.HealthCheckResponse.NOT_SERVING)
        await client.delete(keys.queue_changes_key())
        await until_health(health, health_pb2.HealthCheckResponse.SERVING)
        tickets = await asyncio.gather(Player("ann").play(replica), Player("bob").play(replica))
        assert [ticket.state for ticket in tickets] == [MATCHED, MATCHED]
        health.cancel()


async def until_health(
    watch: grpc.aio.UnaryStreamCall[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse], status: int
) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            news = await watch.read()
            assert isinstance(news, health_pb2.HealthCheckResponse)
            if news.status == status:
                return


def no_live_tickets(*replicas: Replica) -> bool:
    return all(
        replica.sample("live_tickets", state=state) == 0
        for state in ("forming", "waiting", "claimed")
        for replica in replicas
    )


async def is_empty(client: redis.asyncio.Redis, key: str) -> bool:
    return await client.zcard(key) == 0


async def keys_without_end(client: redis.asyncio.Redis) -> list[str]:
    return [name for name in sorted(await key_names(client)) if await client.pttl(name) == -1]


async def nothing_left(client: redis.asyncio.Redis, *allowed: str) -> None:
    async def holds() -> bool:
        return await key_names(client) <= set(allowed)

    await until(holds, "no key is left but those that are allowed")
