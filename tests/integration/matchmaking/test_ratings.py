"""Finished matches become ratings, each exactly once, whatever is delivered how often."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from matchmaking.finished_reader import GROUP
from matchmaking.player_store import PlayerStore
from rami.game.v1 import rules_pb2
from rami.matchmaking.v1 import player_service_pb2 as messages
from rami.store.v1 import finished_pb2, ticket_pb2
from rami_kit import keys
from rami_kit.finished_stream import CONSUMER
from support.queueing import TIMEOUT, Player, key_names, running_replica, store_client, until
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    import redis.asyncio

    from support.queueing import Client, Replica

AWAY = "127.0.0.1:1"
QUICK_READER = {"rating_redeliver_seconds": 0.3}
STREAM = keys.finished_key(0)


def finished(
    number: int,
    scores: dict[str, int],
    winner: str,
    *,
    reason: int = rules_pb2.MATCH_END_REASON_TARGET_SCORE,
    end_ms: int = 4_000_000_000_000,
    matched: bool = True,
) -> bytes:
    """The entry of a match: scores by name; names of bots begin with a star."""
    names = list(scores)
    message = finished_pb2.FinishedMatch(
        schema=1,
        room_id="p0-abcdefgh" + f"{number:08}".translate(str.maketrans("0189", "uvwx")),
        match_id=bytes(16) if matched else b"",
        winner_plus_one=names.index(winner) + 1 if winner else 0,
        end_reason=reason,
        end_ms=end_ms,
    )
    for name, score in scores.items():
        if name.startswith("*"):
            message.seats.add(bot=name.strip("*"), score=score)
        else:
            message.seats.add(player_id=Player(name).player_id, display_name=name.title(), score=score)
    return message.SerializeToString()


async def add(client: redis.asyncio.Redis, entry: bytes, stream: str = STREAM) -> bytes:
    entry_id = await client.xadd(stream, {"m": entry})
    assert isinstance(entry_id, bytes)
    return entry_id


def counted(outcome: str, *replicas: Replica) -> float:
    return sum(replica.sample("rating_updates_total", outcome=outcome) for replica in replicas)


async def get(replica: Client, player_id: str, caller: str = "eve") -> messages.Player:
    request = messages.GetPlayerRequest(player_id=player_id)
    answer = await replica.players.GetPlayer(request, metadata=Player(caller).metadata, timeout=TIMEOUT)
    return answer.player


async def records(replica: Client, names: Sequence[str]) -> list[messages.Player]:
    return [await get(replica, Player(name).player_id) for name in names]


async def nothing_pending(client: redis.asyncio.Redis, stream: str = STREAM) -> bool:
    pending = await client.xpending(stream, GROUP)
    return bool(pending["pending"] == 0)


async def test_a_match_moves_ratings_and_records(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        await add(client, finished(1, {"ann": 120, "bob": 40, "cid": 80}, "ann"))
        await eventually(lambda: counted("rated", replica) == 1, "the match is rated")
        ann, bob, cid = await records(replica, ["ann", "bob", "cid"])
        assert ann.rating > 1000
        assert ann.rating > cid.rating > bob.rating
        assert [(one.matches, one.wins) for one in (ann, bob, cid)] == [(1, 1), (1, 0), (1, 0)]
        assert (ann.display_name, ann.bot) == ("Ann", False)
        assert ann.rating_deviation < 250
        await until(lambda: nothing_pending(client), "nothing is pending")
        names = {name for name in await key_names(client) if name.startswith("{mm}:")}
        assert {name: await client.pttl(name) > 0 for name in names} == dict.fromkeys(names, True)


async def test_a_match_that_comes_again_is_rated_once(store_url: str) -> None:
    entry = finished(1, {"ann": 120, "bob": 40}, "ann")
    async with (
        running_replica(store_url, AWAY) as one,
        running_replica(store_url, AWAY) as other,
        store_client(store_url) as client,
    ):
        await add(client, entry)
        await eventually(lambda: counted("rated", one, other) == 1, "the match is rated")
        before = await records(one, ["ann", "bob"])
        await add(client, entry)
        await eventually(lambda: counted("duplicate", one, other) == 1, "the second one is seen")
        # The stream is lost and comes again, and with it the group: everything is read from its beginning.
        await client.delete(STREAM)
        await add(client, entry)
        await add(client, entry)
        await eventually(lambda: counted("duplicate", one, other) == 3, "those are seen too")
        assert await records(one, ["ann", "bob"]) == before
        assert counted("rated", one, other) == 1


async def test_what_a_dead_replica_took_is_delivered_again(store_url: str) -> None:
    async with store_client(store_url) as client:
        await client.xgroup_create(STREAM, GROUP, "0", mkstream=True)
        await add(client, finished(1, {"ann": 120, "bob": 40}, "ann"))
        trimmed = await add(client, finished(2, {"ann": 120, "bob": 40}, "ann"))
        await client.xreadgroup(GROUP, CONSUMER, {STREAM: ">"})
        # Trimmed while it was pending: there is nothing left to rate, and it must not stay pending for ever.
        await client.xdel(STREAM, trimmed)
        async with running_replica(store_url, AWAY, **QUICK_READER) as replica:
            await eventually(lambda: counted("rated", replica) == 1, "the match is rated")
            await until(lambda: nothing_pending(client), "nothing is pending")
            assert (await get(replica, Player("ann").player_id)).matches == 1


async def test_a_crash_between_rating_and_acknowledging_rates_once(store_url: str) -> None:
    async with running_replica(store_url, AWAY, **QUICK_READER) as replica, store_client(store_url) as client:
        await add(client, finished(1, {"ann": 120, "bob": 40}, "ann"))
        await eventually(lambda: counted("rated", replica) == 1, "the match is rated")
        before = await records(replica, ["ann", "bob"])
        # As if the acknowledgement had never arrived: the group starts again before the entry.
        await client.xgroup_setid(STREAM, GROUP, "0")
        await eventually(lambda: counted("duplicate", replica) == 1, "it is seen again")
        await until(lambda: nothing_pending(client), "nothing is pending")
        assert await records(replica, ["ann", "bob"]) == before


async def test_two_replicas_rate_many_matches_of_the_same_players(store_url: str) -> None:
    async with store_client(store_url) as client:
        for number in range(60):
            winner = ("ann", "bob")[number % 2]
            entry = finished(number, {"ann": 50, "bob": 50}, winner)
            await add(client, entry, keys.finished_key(number % 4))
        async with (
            running_replica(store_url, AWAY, partitions=4) as one,
            running_replica(store_url, AWAY, partitions=4) as other,
        ):
            await eventually(lambda: counted("rated", one, other) == 60, "all are rated")
            ann, bob = await records(one, ["ann", "bob"])
            assert (ann.matches, ann.wins, bob.matches, bob.wins) == (60, 30, 60, 30)
            assert counted("duplicate", one, other) == 0


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        (b"\xff\xff", "unreadable"),
        (b"", "unreadable"),
        (finished_pb2.FinishedMatch(schema=2).SerializeToString(), "unreadable"),
        (finished(1, {"ann": 1}, "ann"), "unreadable"),
        (finished(1, {"ann": 1, "*": 2}, "ann"), "unreadable"),
        (finished(1, {"ann": 1, "bob": 2}, "", reason=rules_pb2.MATCH_END_REASON_ABANDONED), "abandoned"),
        (finished(1, {"ann": 1, "bob": 2}, ""), "no_winner"),
        (finished(1, {"*easy": 100, "*hard": 2}, "*easy"), "bots_only"),
        (finished(1, {"ann": 100, "bob": 2}, "ann", end_ms=1_000_000_000_000), "too_old"),
        (finished(1, {"ann": 100, "bob": 2}, "ann", matched=False), "unmatched"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_not_rated_is_counted_and_done_with(store_url: str, entry: bytes, outcome: str) -> None:
    async with (
        running_replica(store_url, AWAY, rated_rooms="matched") as replica,
        store_client(store_url) as client,
    ):
        await add(client, entry)
        await add(client, finished(2, {"cid": 100, "dan": 2}, "cid"))
        await eventually(lambda: counted("rated", replica) == 1, "the next match is rated")
        assert counted(outcome, replica) == 1
        await until(lambda: nothing_pending(client), "nothing is pending")
        assert not await client.exists(keys.player_key(Player("ann").player_id))


async def test_a_match_that_cannot_be_rated_does_not_hold_up_the_others(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate, failures = PlayerStore.rate, [ZeroDivisionError()]

    async def failing(self: PlayerStore, *match: Any) -> bool:
        if failures:
            raise failures.pop()
        return await rate(self, *match)

    monkeypatch.setattr(PlayerStore, "rate", failing)
    async with store_client(store_url) as client:
        await add(client, finished(1, {"ann": 120, "bob": 40}, "ann"))
        await add(client, finished(2, {"ann": 120, "bob": 40}, "ann"))
        async with running_replica(store_url, AWAY, **QUICK_READER) as replica:
            await eventually(lambda: counted("rated", replica) == 2, "both are rated")
            assert counted("failed", replica) == 1
            await until(lambda: nothing_pending(client), "nothing is pending")


async def test_rooms_that_players_made_are_rated_by_default(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        await add(client, finished(1, {"ann": 100, "bob": 2}, "ann", matched=False))
        await eventually(lambda: counted("rated", replica) == 1, "the match is rated")


async def test_a_bot_is_one_player_wherever_it_sits(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        assert [(await get(replica, f"bot:{name}")).rating for name in ("easy", "normal", "hard")] == [850, 1000, 1150]
        await add(client, finished(1, {"ann": 100, "*easy": 2, "*easy*": 50, "*hard": 7}, "ann"))
        await add(client, finished(2, {"ann": 10, "*easy": 102}, "*easy"))
        await eventually(lambda: counted("rated", replica) == 2, "the matches are rated")
        easy, hard = await get(replica, "bot:easy"), await get(replica, "bot:hard")
        assert (easy.matches, easy.wins, easy.bot, easy.display_name) == (2, 1, True, "easy")
        assert (hard.matches, hard.wins) == (1, 0)
        assert hard.rating < 1150 + 250


async def test_a_record_that_cannot_be_read_is_begun_anew(store_url: str) -> None:
    ann = Player("ann")
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        await client.set(keys.player_key(ann.player_id), b"\xff\xff")
        assert (await get(replica, ann.player_id, caller="ann")).matches == 0
        await add(client, finished(1, {"ann": 120, "bob": 40}, "ann"))
        await eventually(lambda: counted("rated", replica) == 1, "the match is rated")
        assert (await get(replica, ann.player_id)).matches == 1


async def test_skill_decides_who_meets_whom(store_url: str) -> None:
    """The window is about ratings of stored records, not of new players alone."""
    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        for number in range(12):
            await add(client, finished(number, {"ann": 120, "bob": 4}, "ann"))
        await eventually(lambda: counted("rated", replica) == 12, "the matches are rated")
        await asyncio.gather(Player("ann").create(replica), Player("cid").create(replica))
        ids = await client.zrange(keys.waiting_key(), 0, -1)
        assert len(ids) == 2
        found = [await client.hget(keys.ticket_key(one.decode()), "d") for one in ids if isinstance(one, bytes)]
        skills = [ticket_pb2.StoredTicket.FromString(one).skill for one in found if isinstance(one, bytes)]
        assert len(skills) == 2
        assert max(skills) - min(skills) > 100


async def test_whoever_queues_again_does_so_with_the_new_rating(store_url: str) -> None:
    """What a replica remembers of a player is not believed, and a record that cannot be read is a beginner's."""
    ann = Player("ann")

    async def queue_and_leave() -> float:
        ticket = await ann.create(replica)
        record = await client.hget(keys.ticket_key(ticket.ticket_id), "d")
        assert isinstance(record, bytes)
        await ann.cancel(replica, ticket.ticket_id)
        return ticket_pb2.StoredTicket.FromString(record).skill

    def all_rated(matches: int) -> bool:
        return counted("rated", replica) == matches

    async with running_replica(store_url, AWAY) as replica, store_client(store_url) as client:
        skills = [await queue_and_leave()]
        for number in range(2):
            await add(client, finished(number, {"ann": 120, "bob": 4}, "ann"))
            await eventually(partial(all_rated, number + 1), "the match is rated")
            skills += [await queue_and_leave(), await queue_and_leave()]
        beginner, first, still_first, second, still_second = skills
        assert beginner < first == still_first < second == still_second
        await client.set(keys.player_key(ann.player_id), b"\xff\xff")
        assert await queue_and_leave() == beginner
        await client.delete(keys.player_key(ann.player_id))
        assert await queue_and_leave() == beginner
