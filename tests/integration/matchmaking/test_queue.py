"""MatchmakingService over a real channel: queueing, following a ticket, leaving, and every refusal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from rami.game.v1 import room_pb2, rules_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_kit import keys
from rami_kit.errors import reasons, refused
from support.queueing import (
    TIMEOUT,
    Player,
    key_names,
    next_ticket,
    refusal,
    running_replica,
    states_of,
    store_client,
    until,
)
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from support.match_rooms import FakeMatchRooms
    from support.queueing import Client

WAITING = messages.TICKET_STATE_WAITING
MATCHED = messages.TICKET_STATE_MATCHED
CANCELLED = messages.TICKET_STATE_CANCELLED
EXPIRED = messages.TICKET_STATE_EXPIRED


async def test_two_players_get_a_room_and_learn_their_seats(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")
    async with running_replica(store_url, rooms.target) as replica:
        tickets = await asyncio.gather(ann.play(replica), bob.play(replica))
        (room,) = rooms.rooms.values()
        for player, ticket in zip((ann, bob), tickets, strict=True):
            assert ticket.state == MATCHED
            assert (ticket.assignment.room_id, ticket.assignment.seat) == rooms.room_of(player.player_id)
            # Whoever comes later learns the same.
            assert await player.get(replica, ticket.ticket_id) == ticket
            assert await player.outcome(replica, ticket.ticket_id) == ticket
        assert room.options.seats == 2
        assert room.options.visibility == room_pb2.VISIBILITY_PRIVATE
        assert room.options.auto_start
        assert not room.options.HasField("turn_time_limit")
        assert {seat.player.display_name for seat in room.seats} == {"Ann", "Bob"}
        await eventually(lambda: replica.sample("live_tickets", state="claimed") == 0, "the claim is done with")
        assert replica.sample("tickets_total", event="matched") == 2
        assert replica.sample("wait_seconds_count", seats="2", rules="default", outcome="people") == 2
        assert replica.sample("match_spread_points_count") == 1


async def test_a_ticket_says_what_was_asked_for(store_url: str, rooms: FakeMatchRooms) -> None:
    rules = [rules_pb2.RuleOptions(target_score=50, ace_high=True), rules_pb2.RuleOptions()]
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await Player("ann").create(replica, [4, 2], rules=rules, bots_allowed=True, bot="hard")
        assert ticket.state == WAITING
        assert list(ticket.criteria.player_counts) == [2, 4]
        assert [options.target_score for options in ticket.criteria.rules] == [50, 100]
        assert (ticket.criteria.bots_allowed, ticket.criteria.bot) == (True, "hard")
        assert ticket.create_time.seconds > 0
        assert not ticket.HasField("assignment")


async def test_bots_fill_the_table_of_a_player_alone(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await Player("ann").play(replica, [4], bots_allowed=True)
        assert ticket.state == MATCHED
        (room,) = rooms.rooms.values()
        assert sorted(seat.bot.bot for seat in room.seats) == ["", "normal", "normal", "normal"]
        assert room.seats[ticket.assignment.seat].player.player_id == Player("ann").player_id
        await eventually(lambda: replica.sample("live_tickets", state="claimed") == 0, "the claim is done with")
        assert replica.sample("wait_seconds_count", seats="4", rules="default", outcome="bots") == 1


async def test_the_bot_asked_for_fills(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        await Player("ann").play(replica, [3], bots_allowed=True, bot="easy")
        (room,) = rooms.rooms.values()
        assert sorted(seat.bot.bot for seat in room.seats) == ["", "easy", "easy"]


async def test_players_with_other_rules_never_meet(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob, eve = Player("ann"), Player("bob"), Player("eve")
    short, ace = rules_pb2.RuleOptions(target_score=50), rules_pb2.RuleOptions(ace_high=True)
    async with running_replica(store_url, rooms.target) as replica:
        await ann.create(replica, rules=[short])
        other = await bob.create(replica, rules=[ace])
        ticket = await eve.play(replica, rules=[rules_pb2.RuleOptions(), short])
        assert ticket.state == MATCHED
        (room,) = rooms.rooms.values()
        assert {seat.player.player_id for seat in room.seats} == {ann.player_id, eve.player_id}
        assert room.options.rules == rules_pb2.RuleOptions(target_score=50, ace_high=False, discard_to_win=False)
        assert (await bob.get(replica, other.ticket_id)).state == WAITING


async def test_a_watcher_sees_every_state_and_hears_again_after_a_quiet_while(
    store_url: str, rooms: FakeMatchRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matchmaking.matchmaking_servicer.HEARTBEATS", 100)
    ann, bob = Player("ann"), Player("bob")
    rooms.open.clear()
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        watch = ann.watch(replica, ticket.ticket_id)
        states = [(await next_ticket(watch)).state, (await next_ticket(watch)).state]
        assert states == [WAITING, WAITING]  # the second one is the heartbeat
        await bob.create(replica)
        while (state := (await next_ticket(watch)).state) == WAITING:
            pass
        assert state == messages.TICKET_STATE_CLAIMED
        rooms.open.set()
        rest = await states_of(watch)
        assert rest[-1] == MATCHED
        assert set(rest[:-1]) <= {messages.TICKET_STATE_CLAIMED}
        await eventually(lambda: replica.sample("watchers") == 0, "no watcher is left")


async def test_a_watch_lives_through_lost_messages(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        ticket = await ann.create(replica)
        watch = ann.watch(replica, ticket.ticket_id)
        await watch.read()
        await client.client_kill_filter(_type="pubsub")
        await bob.create(replica)
        assert (await states_of(watch))[-1] == MATCHED


async def test_a_watch_ends_when_the_replica_drains(store_url: str, rooms: FakeMatchRooms) -> None:
    ann = Player("ann")
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        watch = ann.watch(replica, ticket.ticket_id)
        await watch.read()
        drained = asyncio.create_task(replica.app.drain())
        assert (await refusal(watch.read()))[0] == "SHUTTING_DOWN"
        await drained
    async with running_replica(store_url, rooms.target) as replica:
        assert (await ann.get(replica, ticket.ticket_id)).state == WAITING


async def test_a_ticket_is_watched_only_so_often(store_url: str, rooms: FakeMatchRooms) -> None:
    ann = Player("ann")
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        watches = [ann.watch(replica, ticket.ticket_id) for _ in range(8)]
        for watch in watches:
            await watch.read()
        reason, metadata = await refusal(ann.watch(replica, ticket.ticket_id).read())
        assert (reason, metadata) == ("LIMIT_REACHED", {"limit": "watches_per_ticket", "value": "8"})
        for watch in watches:
            watch.cancel()
        await eventually(lambda: replica.sample("watchers") == 0, "no watcher is left")


async def test_leaving_is_idempotent_and_frees_the_player(store_url: str, rooms: FakeMatchRooms) -> None:
    ann = Player("ann")
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        assert (await ann.cancel(replica, ticket.ticket_id)).state == CANCELLED
        assert (await ann.cancel(replica, ticket.ticket_id)).state == CANCELLED
        assert (await ann.outcome(replica, ticket.ticket_id)).state == CANCELLED
        assert replica.sample("tickets_total", event="cancelled") == 1
        again = await ann.create(replica, [3])
        assert again.ticket_id != ticket.ticket_id
        assert again.state == WAITING


async def test_leaving_too_late_names_the_room(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")
    async with running_replica(store_url, rooms.target) as replica:
        tickets = await asyncio.gather(ann.play(replica), bob.play(replica))
        room_id, _ = rooms.room_of(ann.player_id)
        assert await refusal(ann.cancel(replica, tickets[0].ticket_id)) == ("TICKET_MATCHED", {"room_id": room_id})


async def test_a_ticket_nobody_asks_for_expires(
    store_url: str, rooms: FakeMatchRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matchmaking.matchmaking_servicer.HEARTBEATS", 12)
    ann, bob = Player("ann"), Player("bob")
    async with running_replica(store_url, rooms.target, ticket_idle_seconds=4.0) as replica:
        left = await ann.create(replica, [2])
        kept = await bob.create(replica, [3])
        watch = bob.watch(replica, kept.ticket_id)
        while replica.sample("tickets_total", event="expired") == 0:
            assert (await next_ticket(watch)).state == WAITING  # its heartbeat keeps this one alive
        watch.cancel()
        assert (await ann.get(replica, left.ticket_id)).state == EXPIRED
        assert (await ann.outcome(replica, left.ticket_id)).state == EXPIRED
        assert (await ann.cancel(replica, left.ticket_id)).state == EXPIRED
        assert replica.sample("wait_seconds_count", seats="0", rules="none", outcome="expired") == 1
        assert (await ann.create(replica, [2])).state == WAITING


async def test_a_ticket_is_there_to_be_found_expired_however_late_that_is(
    store_url: str, rooms: FakeMatchRooms
) -> None:
    ann = Player("ann")
    async with (
        running_replica(store_url, rooms.target, ticket_idle_seconds=25.0) as replica,
        store_client(store_url) as client,
    ):
        ticket_id = (await ann.create(replica, [2])).ticket_id
        for _ in range(2):
            assert await client.pttl(keys.ticket_key(ticket_id)) > 25_000 + 30_000
            assert await client.pttl(keys.live_ticket_key(ann.player_id)) > 25_000 + 30_000
            await ann.get(replica, ticket_id)  # which sets another time


async def test_the_same_request_makes_the_same_ticket_even_after_its_end(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, request_id = Player("ann"), str(uuid4())
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica, [4], bots_allowed=True, request_id=request_id)
        over = await ann.outcome(replica, ticket.ticket_id)
        assert over.state == MATCHED
        assert await ann.create(replica, [4], bots_allowed=True, request_id=request_id) == over
        assert len(rooms.rooms) == 1
        call = ann.create(replica, [3], bots_allowed=True, request_id=request_id)
        assert (await refusal(call))[0] == "REQUEST_ID_REUSED"


async def test_a_live_ticket_is_found_again_unless_the_wishes_differ(store_url: str, rooms: FakeMatchRooms) -> None:
    ann = Player("ann")
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica, [2, 3])
        assert await ann.create(replica, [3, 2]) == ticket
        assert await refusal(ann.create(replica, [4])) == ("ALREADY_QUEUED", {"ticket_id": ticket.ticket_id})
        assert replica.sample("tickets_total", event="created") == 1


async def test_the_queue_shows_pools_and_waits(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        await asyncio.gather(Player("ann").play(replica), Player("bob").play(replica))
        await Player("cid").create(replica, [4, 2])
        await Player("dan").create(replica, [4], rules=[rules_pb2.RuleOptions(target_score=50)])
        request = messages.GetQueueRequest()
        answer = await replica.queue.GetQueue(request, metadata=Player("eve").metadata, timeout=TIMEOUT)
        pools = [(pool.seats, pool.rules.target_score, pool.waiting_players) for pool in answer.pools]
        assert pools == [(2, 100, 1), (4, 50, 1), (4, 100, 1)]
        two, four = answer.pools[0], answer.pools[1]
        assert two.HasField("longest_wait")
        assert two.HasField("median_wait")
        assert two.p95_wait.ToTimedelta() >= two.median_wait.ToTimedelta()
        assert not four.HasField("median_wait")


async def ask(replica: Client, **fields: Any) -> messages.GetQueueResponse:
    request = messages.GetQueueRequest(**fields)
    return await replica.queue.GetQueue(request, metadata=Player("eve").metadata, timeout=TIMEOUT)


async def test_the_queue_is_told_in_pages_or_for_what_is_asked(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        await asyncio.gather(Player("ann").play(replica), Player("bob").play(replica))
        short = rules_pb2.RuleOptions(target_score=50)
        await Player("cid").create(replica, [4, 3, 2], rules=[short])
        first = await ask(replica, page_size=2)
        assert [pool.seats for pool in first.pools] == [2, 3]
        assert first.bot_fill_wait.ToMilliseconds() == 200
        last = await ask(replica, page_size=2, page_token=first.next_page_token)
        assert ([pool.seats for pool in last.pools], last.next_page_token) == ([4], "")
        # A pool that nobody waits in is told of too when it is asked for: it is what a newcomer wants to know.
        empty, waiting = (await ask(replica, player_counts=[2], rules=[rules_pb2.RuleOptions(), short])).pools
        assert (empty.waiting_players, empty.HasField("longest_wait")) == (0, False)
        assert empty.estimated_wait == empty.median_wait
        assert (waiting.waiting_players, waiting.HasField("estimated_wait")) == (1, False)
        assert [pool.seats for pool in (await ask(replica, player_counts=[4, 3])).pools] == [3, 4]
        for fields, field in (
            ({"page_size": 101}, "page_size"),
            ({"page_size": -1}, "page_size"),
            ({"page_token": "x"}, "page_token"),
            ({"player_counts": [5]}, "player_counts"),
            ({"player_counts": [2, 2]}, "player_counts"),
            ({"rules": [short]}, "rules"),
            ({"player_counts": [2], "rules": [short] * 9}, "rules"),
            ({"player_counts": [2], "rules": [rules_pb2.RuleOptions(target_score=0)]}, "rules[0].target_score"),
        ):
            assert await refusal(ask(replica, **fields)) == ("INVALID_REQUEST", {"field": field})


async def test_the_queue_shows_pools_and_waits_of_parties_by_player(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ann, bob = Player("ann"), Player("bob")
        request = messages.CreateTicketRequest(
            request_id=str(uuid4()),
            criteria=messages.TicketCriteria(player_counts=[4]),
            party_player_ids=[bob.player_id],
        )
        made = await replica.queue.CreateTicket(request, metadata=ann.metadata, timeout=TIMEOUT)
        assert [pool.waiting_players for pool in (await ask(replica, player_counts=[4])).pools] == [0]
        confirm = messages.ConfirmTicketRequest(request_id=str(uuid4()), ticket_id=made.ticket.ticket_id)
        await replica.queue.ConfirmTicket(confirm, metadata=bob.metadata, timeout=TIMEOUT)
        await until(lambda: two_wait(replica), "both are seen to wait")


async def two_wait(replica: Client) -> bool:
    return [pool.waiting_players for pool in (await ask(replica)).pools] == [2]


BAD_CRITERIA: list[tuple[dict[str, Any], str]] = [
    ({"player_counts": []}, "criteria.player_counts"),
    ({"player_counts": [1, 2]}, "criteria.player_counts"),
    ({"player_counts": [5]}, "criteria.player_counts"),
    ({"player_counts": [2, 2]}, "criteria.player_counts"),
    ({"player_counts": [2], "rules": [rules_pb2.RuleOptions()] * 9}, "criteria.rules"),
    (
        {"player_counts": [2], "rules": [rules_pb2.RuleOptions(), rules_pb2.RuleOptions(target_score=0)]},
        "criteria.rules[1].target_score",
    ),
    ({"player_counts": [2], "rules": [rules_pb2.RuleOptions(target_score=1001)]}, "criteria.rules[0].target_score"),
    ({"player_counts": [2], "bot": "easy"}, "criteria.bot"),
    ({"player_counts": [2], "weakest_bot": "easy"}, "criteria.weakest_bot"),
    ({"player_counts": [2], "bots_allowed": True, "bot": "easy", "weakest_bot": "easy"}, "criteria.weakest_bot"),
]


@pytest.mark.parametrize(("criteria", "field"), BAD_CRITERIA)
async def test_wrong_criteria_are_refused_by_field_and_leave_nothing(
    store_url: str, rooms: FakeMatchRooms, criteria: dict[str, Any], field: str
) -> None:
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        counts = criteria.pop("player_counts")
        assert await refusal(Player("ann").create(replica, counts, **criteria)) == (
            "INVALID_REQUEST",
            {"field": field},
        )
        criteria["player_counts"] = counts
        assert await client.keys("{mm}:*") == []


async def test_wrong_ids_are_refused(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, eve = Player("ann"), Player("eve")
    async with running_replica(store_url, rooms.target) as replica:
        for request_id in ("not-a-uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"):
            reason, metadata = await refusal(ann.create(replica, request_id=request_id))
            assert (reason, metadata) == ("INVALID_REQUEST", {"field": "request_id"})
        reason, metadata = await refusal(ann.create(replica, bots_allowed=True, bot="grandmaster"))
        assert (reason, metadata) == ("BOT_NOT_FOUND", {"bot": "grandmaster"})

        ticket = await ann.create(replica)
        for ticket_id in (ticket.ticket_id, "a" * 26, "no ticket", "x" * 5000):
            # Somebody else's ticket, an unknown one, and no ticket id at all are the same thing.
            assert (await refusal(eve.get(replica, ticket_id)))[0] == "TICKET_NOT_FOUND"
            assert (await refusal(eve.watch(replica, ticket_id).read()))[0] == "TICKET_NOT_FOUND"
            assert (await refusal(eve.cancel(replica, ticket_id)))[0] == "TICKET_NOT_FOUND"
        assert await refusal(eve.get(replica, "")) == ("INVALID_REQUEST", {"field": "ticket_id"})
        assert await refusal(eve.watch(replica, "").read()) == ("INVALID_REQUEST", {"field": "ticket_id"})
        call = replica.queue.CancelTicket(
            messages.CancelTicketRequest(request_id="1", ticket_id=ticket.ticket_id),
            metadata=ann.metadata,
            timeout=TIMEOUT,
        )
        assert await refusal(call) == ("INVALID_REQUEST", {"field": "request_id"})
        assert (await ann.get(replica, ticket.ticket_id)).state == WAITING


async def test_every_method_needs_a_player(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        calls: list[Awaitable[object]] = [
            replica.queue.CreateTicket(messages.CreateTicketRequest(), timeout=TIMEOUT),
            replica.queue.GetTicket(messages.GetTicketRequest(), timeout=TIMEOUT),
            replica.queue.CancelTicket(messages.CancelTicketRequest(), timeout=TIMEOUT),
            replica.queue.GetQueue(messages.GetQueueRequest(), timeout=TIMEOUT),
            replica.queue.WatchTicket(messages.WatchTicketRequest()).read(),
        ]
        for call in calls:
            assert (await refusal(call))[0] == "TOKEN_MISSING"


async def test_leaving_while_the_room_is_made_waits_for_the_outcome(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")
    rooms.open.clear()
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        await bob.create(replica)
        await eventually(lambda: rooms.calls > 0, "the room is asked for")
        cancel = asyncio.create_task(refusal(ann.cancel(replica, ticket.ticket_id)))
        await eventually(lambda: replica.sample("watchers") == 1, "the call waits")
        rooms.open.set()
        reason, metadata = await cancel
        assert (reason, metadata) == ("TICKET_MATCHED", {"room_id": rooms.room_of(ann.player_id)[0]})


async def test_leaving_while_the_room_is_made_ends_before_its_deadline(
    store_url: str, rooms: FakeMatchRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matchmaking.matchmaking_servicer.ANSWER_SECONDS", TIMEOUT - 0.75)
    ann, bob = Player("ann"), Player("bob")
    rooms.open.clear()
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        await bob.create(replica)
        await eventually(lambda: rooms.calls > 0, "the room is asked for")
        reason, metadata = await refusal(ann.cancel(replica, ticket.ticket_id))
        assert (reason, metadata) == ("PEER_UNAVAILABLE", {"peer": "game"})
        rooms.open.set()
        assert (await ann.outcome(replica, ticket.ticket_id)).state == MATCHED


async def test_leaving_while_the_room_is_refused_takes_the_ticket_out(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")
    rooms.open.clear()
    # As often as it is asked for: a machine that stands still may let the two be claimed again before the call looks.
    rooms.errors = [refused(reasons.ERROR_REASON_BOT_NOT_FOUND, "no such bot") for _ in range(100)]
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await ann.create(replica)
        await bob.create(replica)
        await eventually(lambda: rooms.calls > 0, "the room is asked for")
        cancel = asyncio.create_task(ann.cancel(replica, ticket.ticket_id))
        await eventually(lambda: replica.sample("watchers") == 1, "the call waits")
        rooms.open.set()
        assert (await cancel).state == CANCELLED
        assert rooms.rooms == {}


async def test_calls_without_a_store_are_unavailable(rooms: FakeMatchRooms) -> None:
    async with running_replica("redis://127.0.0.1:1/0", rooms.target) as replica:
        ann = Player("ann")
        for call in (ann.create(replica), ann.get(replica, "a" * 26), ann.watch(replica, "a" * 26).read()):
            assert (await refusal(call))[0] == "STORE_UNAVAILABLE"


async def test_tickets_are_kept_under_one_hash_tag(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        await Player("ann").create(replica)
        found = await key_names(client)
        assert all(name.startswith("{mm}:") for name in found)
        assert {keys.waiting_key(), keys.queue_changes_key()} < found
