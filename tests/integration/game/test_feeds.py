"""Feeds between the store and streams: gaps, lost pasts, slow readers, memory, and what is left behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from game_state import lobby
from game_state.draft import Draft
from game_state.repository import CommitConflict
from game_state.watcher import QUEUE_LIMIT, Watcher
from rami.game.v1 import game_service_pb2 as pb
from rami_kit import keys
from rami_kit.errors import RamiError, StoreUnavailable, StoreUncertain, reason_name
from support.game_node import Node, game_node, heard
from support.game_store import StoreView
from support.game_tables import EMPTY, TIMES, Table, table_options
from support.waiting import WAIT_SECONDS, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from game_state.events import CommittedStep
    from game_state.room import Room


@pytest.fixture
async def near(store_url: str) -> AsyncIterator[Node]:
    async with game_node(store_url) as node:
        yield node


@pytest.fixture
async def far(store_url: str) -> AsyncIterator[Node]:
    async with game_node(store_url) as node:
        yield node


@pytest.fixture
def room_id(store_url: str) -> str:
    """A match of Ann and Bob that has just begun: version 2."""
    table = Table(["ann", "bob"], options=table_options(spectators_allowed=True))
    table.start()
    with StoreView(store_url) as store:
        # The service's clocks are the store's: a room of long ago would have run out.
        table.room.expire_ms = store.now_ms() + TIMES.match_ttl_ms
        table.room.turn_deadline_ms = store.now_ms() + 3_600_000
        store.plant(table)
    return table.room.room_id


async def soon(stream: Any) -> Any:
    """The next message of a stream."""
    async with asyncio.timeout(WAIT_SECONDS):
        return heard(await anext(stream))


async def test_local_and_far_watchers_get_every_step_once(near: Node, far: Node, room_id: str) -> None:
    watchers = [near.stream(room_id, "eve"), far.stream(room_id, "ann")]
    async with watchers[0], watchers[1]:
        streams = [watcher.messages() for watcher in watchers]
        assert [(await soon(stream)).snapshot.room.version for stream in streams] == [2, 2]
        for version in range(3, 9):
            await (near if version % 2 else far).act(room_id)
        for stream in streams:
            seen: list[int] = []
            while len(seen) < 6:
                seen += [event.version for event in (await soon(stream)).events]
            assert seen == list(range(3, 9))
            await stream.aclose()


async def test_a_step_that_comes_while_the_log_is_read_is_not_lost(
    near: Node, far: Node, room_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is read for one gap, and the step that shows the next one comes before its answer."""
    watcher = Watcher()
    feed = await near.hub.open(room_id, watcher)
    await near.subscriber.unsubscribe(feed.channel, feed.on_message)  # nothing comes by itself
    steps: list[CommittedStep] = []
    far.repository.add_listener(_Recorder(steps))
    for _ in range(3):
        await far.act(room_id)
    read_log = near.repository.log

    async def slow_log(*args: Any) -> Any:
        answer = await read_log(*args)
        monkeypatch.setattr(near.repository, "log", read_log)
        await far.act(room_id)
        await far.act(room_id)
        feed.take(steps[-1])  # version 7, while the answer ends with version 5
        return answer

    monkeypatch.setattr(near.repository, "log", slow_log)
    feed.take(steps[1])  # version 4 after version 2
    await eventually(lambda: feed.version == 7, "the last step has come")
    assert [step.version for step in watcher.queue] == [3, 4, 5, 6, 7]
    assert not watcher.behind
    await near.hub.close(feed, watcher)


async def test_a_result_waits_for_its_event(near: Node, far: Node, room_id: str) -> None:
    async with near.stream(room_id, "ann") as ann:
        stream = ann.messages()
        await soon(stream)
        feed = near.hub._feeds[room_id]
        await near.subscriber.unsubscribe(feed.channel, feed.on_message)
        room = await far.act(room_id)
        accepted = pb.ActionResult(request_id="accepted", version=room.version)
        ann.add_result(room.version, accepted.SerializeToString())
        reading = asyncio.ensure_future(anext(stream))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not reading.done()
        feed.fill()
        message = pb.PlayResponse.FromString(await reading)
        assert [event.version for event in message.events] == [room.version]
        assert [result.request_id for result in message.results] == ["accepted"]
        await stream.aclose()


class _Recorder:
    def __init__(self, steps: list[CommittedStep]) -> None:
        self._steps = steps

    def committed(self, _room: Room, committed: CommittedStep) -> None:
        self._steps.append(committed)


async def test_a_gap_is_filled_when_the_store_is_back(
    near: Node, far: Node, room_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher()
    feed = await near.hub.open(room_id, watcher)
    await near.subscriber.unsubscribe(feed.channel, feed.on_message)
    await far.act(room_id)
    read_log = near.repository.log
    failures = 0

    async def no_log(*_args: Any) -> Any:
        nonlocal failures
        failures += 1
        if failures == 2:
            monkeypatch.setattr(near.repository, "log", read_log)
        raise StoreUnavailable

    monkeypatch.setattr(near.repository, "log", no_log)
    feed.fill()
    await eventually(lambda: feed.version == 3, "the gap is filled")
    assert failures == 2
    await near.hub.close(feed, watcher)


class _LostAnswer:
    """A commit whose answer is lost: the store has applied it, and the channel has told of it."""

    def __init__(self, near: Node, room_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._hold = monkeypatch.setattr
        self._near = near
        self._feed = near.hub._feeds[room_id]
        self._run_commit = near.repository._run_commit
        self._heard: list[bytes | None] = []

    async def begin(self, room_id: str) -> asyncio.Task[Room]:
        """The action whose commit waits for its answer; returns once the channel has told of it."""
        await self._near.subscriber.subscribe(self._feed.channel, self._heard.append)
        self._hold(self._near.repository, "_run_commit", self._commit)
        acting = asyncio.create_task(self._near.act(room_id))
        await eventually(lambda: len(self._heard) == 1, "the channel tells of the step")
        return acting

    def _commit(self, *step: Any) -> asyncio.Future[Any]:
        self._run_commit(*step)
        return self.answer


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_step_whose_committer_never_hears_of_it_is_handed_on_all_the_same(
    near: Node, room_id: str, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    watcher = Watcher()
    feed = await near.hub.open(room_id, watcher)
    lost = _LostAnswer(near, room_id, monkeypatch)
    acting = await lost.begin(room_id)
    assert feed.version == 2, "the committer is to hand it on"
    if cancelled:
        acting.cancel()
    else:
        lost.answer.set_exception(StoreUncertain())
    with pytest.raises(asyncio.CancelledError if cancelled else StoreUncertain):
        await acting
    await eventually(lambda: feed.version == 3, "the log has told of it")
    assert [step.version for step in watcher.queue] == [3]
    await near.hub.close(feed, watcher)


async def test_a_step_of_others_waits_for_a_commit_that_is_under_way(
    near: Node, far: Node, room_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher()
    feed = await near.hub.open(room_id, watcher)
    lost = _LostAnswer(near, room_id, monkeypatch)
    acting = await lost.begin(room_id)
    heard_of: list[bytes | None] = []
    await near.subscriber.subscribe(feed.channel, heard_of.append)
    await far.act(room_id)
    await eventually(lambda: len(heard_of) == 1, "the channel tells of the other step")
    assert feed.version == 2
    lost.answer.set_result(1)
    await acting
    await eventually(lambda: feed.version == 4, "both are handed on")
    assert [step.version for step in watcher.queue] == [3, 4]
    await near.hub.close(feed, watcher)


async def test_a_slow_reader_gets_a_snapshot_instead_of_what_it_missed(near: Node, room_id: str) -> None:
    async with near.stream(room_id, "eve") as watcher:
        stream = watcher.messages()
        await soon(stream)
        room = None
        for _ in range(QUEUE_LIMIT + 20):
            room = await near.act(room_id)
        assert room is not None
        assert len(watcher.watcher.queue) == 0
        message = await soon(stream)
        assert message.snapshot.room.version == room.version
        assert not message.snapshot.rewound
        assert not message.events
        assert near.sample("rami_game_watcher_drops_total") == 1
        after = await near.act(room_id)
        assert [event.version for event in (await soon(stream)).events] == [after.version]
        await stream.aclose()


class Past:
    """What the store holds of a room, to be brought back: as a failover does that lost the latest commits."""

    def __init__(self, url: str, room_id: str) -> None:
        self._url = url
        self._place = keys.parse_room_id(room_id) or (0, "")
        with StoreView(url) as store:
            self._kept = {
                name: cast("bytes", store.client.dump(name))
                for name in (keys.room_key(*self._place), keys.log_key(*self._place))
            }

    def bring_back(self) -> None:
        with StoreView(self._url) as store:
            for name, dumped in self._kept.items():
                store.client.restore(name, 3_600_000, dumped, replace=True)


async def test_v8_who_held_a_lost_version_gets_a_snapshot_marked_rewound(
    near: Node, far: Node, room_id: str, store_url: str
) -> None:
    held, fresh = near.stream(room_id, "eve"), far.stream(room_id, "ann")
    async with held, fresh:
        streams = [held.messages(), fresh.messages()]
        for stream in streams:
            await soon(stream)
        await near.act(room_id)
        past = Past(store_url, room_id)
        lost = await near.act(room_id)
        for stream in streams:
            while (await soon(stream)).events[-1].version < lost.version:
                pass
        past.bring_back()
        found = await far.act(room_id)  # from memory first, which the commit refuses
        assert found.version == lost.version
        assert found.commit_id != lost.commit_id
        for stream in streams:
            message = await soon(stream)
            assert message.snapshot.rewound
            assert message.snapshot.room.version == found.version
            await stream.aclose()
        with pytest.raises(CommitConflict):
            await near.repository.commit(lost, _drafted(lost, near))
    with StoreView(store_url) as store:
        assert [version for version, _ in store.log(room_id)] == [1, 2, 3, 4]


@pytest.mark.parametrize("told_by", ["step", "heartbeat"])
async def test_v8_who_was_shown_a_step_that_the_feed_never_had_is_told_that_it_is_lost(
    near: Node, far: Node, room_id: str, monkeypatch: pytest.MonkeyPatch, store_url: str, *, told_by: str
) -> None:
    watcher = Watcher()
    feed = await near.hub.open(room_id, watcher)
    past = Past(store_url, room_id)
    lost = _LostAnswer(near, room_id, monkeypatch)
    acting = await lost.begin(room_id)
    async with near.stream(room_id, "eve") as shown:
        stream = shown.messages()
        assert (await soon(stream)).snapshot.room.version == 3
        past.bring_back()
        lost.answer.set_exception(StoreUncertain())
        with pytest.raises(StoreUncertain):
            await acting
        if told_by == "step":
            version = (await far.act(room_id)).version
        else:
            version = feed.version
            await shown._sign_of_life()
        message = await soon(stream)
        assert message.snapshot.rewound
        assert message.snapshot.room.version == version
        await stream.aclose()
    await near.hub.close(feed, watcher)


async def test_v8_a_step_of_another_past_below_what_was_handed_on_is_noticed(
    near: Node, far: Node, room_id: str, store_url: str
) -> None:
    async with near.stream(room_id, "eve") as held:
        stream = held.messages()
        await soon(stream)
        past = Past(store_url, room_id)
        for _ in range(2):
            await near.act(room_id)
        lost = await near.act(room_id)
        while (await soon(stream)).events[-1].version < lost.version:
            pass
        past.bring_back()
        found = await far.act(room_id)
        assert found.version == lost.version - 2
        message = await soon(stream)
        assert message.snapshot.rewound
        assert message.snapshot.room.version == found.version
        found = await far.act(room_id)
        assert [event.version for event in (await soon(stream)).events] == [found.version]
        await stream.aclose()


def _drafted(room: Room, node: Node) -> Draft:
    draft = Draft(room, node.repository.now_ms(), TIMES)
    lobby.leave(draft, "bob")
    return draft


async def test_nothing_is_left_of_a_room_that_is_not_there(near: Node, store_url: str) -> None:
    watchers = [Watcher() for _ in range(3)]
    outcomes = await asyncio.gather(
        *(near.hub.open("p0-aaaaaaaaaaaaaaaa", watcher) for watcher in watchers), return_exceptions=True
    )
    for outcome in outcomes:
        assert isinstance(outcome, RamiError)
        assert reason_name(outcome.reason) == "ROOM_NOT_FOUND"
    assert len(near.hub) == 0
    assert near.subscriber.channel_count == 0
    with StoreView(store_url) as store:
        await eventually(lambda: store.channels() == [], "the subscription is gone")


@pytest.mark.parametrize("turns", range(6))
async def test_nothing_is_left_of_an_opening_that_is_given_up(near: Node, room_id: str, turns: int) -> None:
    opening = asyncio.ensure_future(near.hub.open(room_id, Watcher()))
    staying = Watcher()
    other = asyncio.ensure_future(near.hub.open(room_id, staying))
    for _ in range(turns):
        await asyncio.sleep(0)
    opening.cancel()
    feed = await other
    assert staying in feed.watchers
    await asyncio.wait([opening])
    for watcher in tuple(feed.watchers):
        await near.hub.close(feed, watcher)

    assert len(near.hub) == 0
    assert near.subscriber.channel_count == 0
    assert not [task for task in asyncio.all_tasks() if task.get_name() in ("feed-start", "feed-fill")]


async def test_a_feed_that_is_opened_again_at_once_hears_everything(near: Node, far: Node, room_id: str) -> None:
    for _ in range(5):
        watcher = Watcher()
        feed = await near.hub.open(room_id, watcher)
        room = await far.act(room_id)
        await eventually(lambda feed=feed, room=room: feed.version == room.version, "the step has come")  # type: ignore[misc]
        await near.hub.close(feed, watcher)
    assert len(near.hub) == 0


async def test_memory_keeps_the_rooms_used_last_and_counts_them(store_url: str) -> None:
    async with game_node(store_url, kept_rooms=2) as node:
        rooms = []
        for number in range(3):
            table = Table(["ann", EMPTY])
            table.room.room_id = f"p0-{'abc'[number] * 16}"
            with StoreView(store_url) as store:
                store.plant(table)
            rooms.append(table.room.room_id)
            await node.repository.get(table.room.room_id)
        assert [node.repository.kept(room_id) is not None for room_id in rooms] == [False, True, True]
        assert node.sample("rami_game_rooms", state="lobby") == 2
        assert node.sample("rami_game_room_cache_total", outcome="miss") == 3
        assert node.sample("rami_game_room_cache_total", outcome="evicted") == 1
        await node.repository.get(rooms[1])
        assert node.sample("rami_game_room_cache_total", outcome="hit") == 1
        await node.join(rooms[0], "bob")
        assert [node.repository.kept(room_id) is not None for room_id in rooms] == [True, True, False]


async def test_a_commit_without_an_answer_is_not_remembered(
    near: Node, room_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been applied or not: memory must not say either."""
    room = await near.repository.get(room_id)

    async def no_answer(*_: Any) -> None:
        raise StoreUncertain

    with monkeypatch.context() as patch:
        patch.setattr(near.repository, "_run_commit", no_answer)
        with pytest.raises(StoreUncertain):
            await near.act(room_id)
    assert near.repository.kept(room_id) is None
    assert near.sample("rami_game_rooms", state="in_match") == 0
    assert (await near.act(room_id)).version == room.version + 1


async def test_nothing_is_said_from_memory_before_the_store_has_confirmed_it(
    near: Node, far: Node, store_url: str
) -> None:
    """Another replica has filled the room, emptied a seat, closed it: memory knows nothing of that."""
    table = Table(["ann", EMPTY])
    with StoreView(store_url) as store:
        store.plant(table)
    room_id = table.room.room_id
    await near.repository.get(room_id)
    await far.join(room_id, "bob")
    with pytest.raises(RamiError) as caught:
        await near.join(room_id, "cid")
    assert reason_name(caught.value.reason) == "ROOM_FULL"

    await far.changer.change(room_id, lambda draft: lobby.leave(draft, "bob"))
    assert (await near.join(room_id, "cid")).result == 1, "memory had it full"
    for player in ("ann", "cid"):
        await far.changer.change(room_id, lambda draft, player=player: lobby.leave(draft, player))  # type: ignore[misc]
    for call in (near.join(room_id, "dot"), near.repository.get(room_id)):
        with pytest.raises(RamiError) as caught:
            await call
        assert reason_name(caught.value.reason) == "ROOM_NOT_FOUND"
    assert near.repository.kept(room_id) is None
