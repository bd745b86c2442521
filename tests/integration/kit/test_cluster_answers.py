"""Answers that clusters and sentinels give in rare moments, from servers that give them on request."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from rami_kit.errors import StoreUnavailable, StoreUncertain
from rami_kit.slots import slot_of
from rami_kit.subscriber import Subscriber
from support.fake_redis import FakeRedis
from support.stores import ADD, connected, hurried, outcomes
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rami_kit.redis_store import Store

KEY = "{p1}:n"
SLOT = slot_of(KEY)


@pytest.fixture(autouse=True)
def rare_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked but what a test asks, however long it takes."""
    monkeypatch.setattr("rami_kit.redis_store.PROBE_SECONDS", 3600.0)


class Node(FakeRedis):
    """A node that says of itself that it owns every slot; `script` answers EVALSHA, EVAL and SSUBSCRIBE."""

    def __init__(self, script: Callable[[list[bytes]], Any], epoch: int = 1) -> None:
        super().__init__(self._answer)
        self.script = script
        self.owner: FakeRedis = self
        self.epoch = epoch

    def _answer(self, command: list[bytes]) -> Any:
        match command:
            case [b"TIME"]:
                return [b"1700000000", b"0"]
            case [b"CLUSTER", b"INFO"]:
                return b"cluster_state:ok\r\ncluster_current_epoch:%d\r\n" % self.epoch
            case [b"CLUSTER", b"SLOTS"]:
                return [[0, 16383, [b"127.0.0.1", self.owner.port, b"id"]]]
            case [b"SCRIPT" | b"ASKING", *_]:
                return b"OK"
        return self.script(command)

    def words(self) -> list[bytes]:
        """Names of the commands since the last look, without those about the cluster and the clock."""
        names = [command[0] for command in self.commands if command[0] not in {b"CLUSTER", b"TIME"}]
        self.commands.clear()
        return names


def error(text: str) -> Callable[[list[bytes]], Exception]:
    return lambda _command: Exception(text)


@asynccontextmanager
async def cluster_of(*nodes: Node, timeout_seconds: float = 30.0) -> AsyncIterator[Store]:
    url = f"redis+cluster://{','.join(node.place for node in nodes)}"
    async with connected(url, redis_timeout_seconds=timeout_seconds) as store:
        for node in nodes:
            node.commands.clear()
        yield store


async def test_asking_comes_right_before_each_command() -> None:
    def target_answers(command: list[bytes]) -> Any:
        return Exception("NOSCRIPT unknown") if command[0] == b"EVALSHA" else 7

    async with Node(lambda _: 0) as source, Node(target_answers) as target:
        target.owner = source
        source.script = error(f"ASK {SLOT} {target.place}")
        async with cluster_of(source, target) as store:
            assert await asyncio.gather(*(store.run(ADD, [KEY], [1]) for _ in range(2))) == [7, 7]
            assert source.words() == [b"EVALSHA"] * 2
            assert target.words() == [
                *(b"ASKING", b"EVALSHA", b"ASKING", b"EVALSHA"),
                *(b"SCRIPT", b"ASKING", b"EVAL", b"ASKING", b"EVAL"),
            ]
            # It holds for one call: the slot is still the other's.
            source.script = lambda _: 8
            assert await store.run(ADD, [KEY], [1]) == 8


async def test_what_is_asked_elsewhere_comes_back_when_it_cannot_be_done_there() -> None:
    async with Node(lambda _: 0) as source, Node(error("TRYAGAIN some keys are here")) as target:
        target.owner = source
        answers = count()

        def source_answers(_command: list[bytes]) -> Any:
            return Exception(f"ASK {SLOT} {target.place}") if next(answers) == 0 else 9

        source.script = source_answers
        async with cluster_of(source, target) as store:
            assert await store.run(ADD, [KEY], [1]) == 9
            assert target.words() == [b"ASKING", b"EVALSHA"]
            assert source.words() == [b"EVALSHA", b"EVALSHA"]


@pytest.mark.parametrize("answer", ["MOVED", "ASK", "TRYAGAIN"])
async def test_a_call_is_not_sent_about_for_ever(answer: str) -> None:
    async with Node(lambda _: 0) as one, Node(lambda _: 0) as two:
        text = {
            "MOVED": f"MOVED {SLOT} {{}}",
            "ASK": f"ASK {SLOT} {{}}",
            "TRYAGAIN": "TRYAGAIN Multiple keys request during rehashing of slot",
        }[answer]
        one.script, two.script = error(text.format(two.place)), error(text.format(one.place))
        async with cluster_of(one, two) as store:
            with hurried(store, 0.5), pytest.raises(StoreUnavailable) as caught:
                await store.run(ADD, [KEY], [1])
            assert type(caught.value) is StoreUnavailable
            assert outcomes(store, "add") == {"unavailable": 1}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CLUSTERDOWN The cluster is down", StoreUnavailable),
        ("LOADING Redis is loading the dataset in memory", StoreUnavailable),
        ("READONLY You can't write against a read only replica.", StoreUnavailable),
        (
            "ERR Script attempted to access a non local key in a cluster node script: x, on @user_script:1.",
            StoreUncertain,
        ),
        ("ERR Script attempted to execute a write command while the cluster is down and readonly", StoreUncertain),
    ],
)
async def test_what_a_node_in_trouble_says(text: str, kind: type[StoreUnavailable]) -> None:
    async with Node(error(text)) as node, cluster_of(node) as store:
        with pytest.raises(StoreUnavailable) as caught:
            await store.run(ADD, [KEY], [1])
        assert type(caught.value) is kind


async def test_the_node_that_knows_most_is_believed() -> None:
    async with Node(lambda _: 1, epoch=5) as old, Node(lambda _: 2, epoch=6) as new:
        async with cluster_of(old, new) as store:
            assert await store.run(ADD, [KEY], [1]) == 2
        async with cluster_of(new, old) as store:
            assert await store.run(ADD, [KEY], [1]) == 2


async def test_of_nodes_that_know_as_much_most_are_believed() -> None:
    # Whichever port is the greater: the one that came back thinks itself in charge, the others know better.
    async with Node(lambda _: 1) as one, Node(lambda _: 2) as other, Node(lambda _: 3) as third:
        for back, owner in ((one, other), (other, one)):
            one.owner = other.owner = third.owner = owner
            back.owner = back
            async with cluster_of(back, third, owner) as store:
                assert await store.run(ADD, [KEY], [1]) == (1 if owner is one else 2)


async def test_a_cluster_without_slots_is_waited_for() -> None:
    async with Node(lambda _: 3) as node:
        whole = node.answer

        def empty(command: list[bytes]) -> Any:
            return [] if command == [b"CLUSTER", b"SLOTS"] else whole(command)

        node.answer = empty
        async with cluster_of(node) as store:
            assert not store.healthy
            with hurried(store, 0.5), pytest.raises(StoreUnavailable):
                await store.run(ADD, [KEY], [1])
            node.answer = whole
            await eventually(lambda: store.healthy, "the store is healthy")
            assert await store.run(ADD, [KEY], [1]) == 3


async def test_a_single_server_that_is_a_node_is_told_apart() -> None:
    async with Node(error(f"MOVED {SLOT} 127.0.0.1:1")) as node, connected(f"redis://{node.place}") as store:
        with pytest.raises(StoreUnavailable, match=r"redis\+cluster"):
            await store.run(ADD, [KEY], [1])


async def test_a_refused_channel_is_asked_for_again_and_a_moved_one_elsewhere() -> None:
    def confirm(command: list[bytes]) -> Any:
        kind = command[0].lower()
        return tuple([kind, name, place] for place, name in enumerate(command[1:], 1))

    async with Node(lambda _: 0) as one, Node(confirm) as two:
        two.owner = one
        asked = count()

        def refuse(command: list[bytes]) -> Any:
            if command[0] != b"SSUBSCRIBE":
                return Exception(f"MOVED {SLOT} {two.place}")
            if next(asked) == 0:
                return Exception("CLUSTERDOWN Hash slot not served")
            one.owner = two.owner = two
            return Exception(f"MOVED {SLOT} {two.place}")

        one.script = refuse
        async with cluster_of(one, two) as store:
            subscriber = Subscriber(store)
            heard: list[bytes | None] = []
            try:
                await subscriber.subscribe(KEY, heard.append)
                assert one.words()[:2] == [b"SSUBSCRIBE", b"SSUBSCRIBE"]
                assert two.words() == [b"SSUBSCRIBE"]
                await subscriber.unsubscribe(KEY, heard.append)
                await eventually(lambda: b"SUNSUBSCRIBE" in two.words(), "nothing is left behind")
            finally:
                await subscriber.close()


class Sentinel(FakeRedis):
    """A sentinel that names a master since an epoch."""

    def __init__(self, master: FakeRedis, epoch: int) -> None:
        super().__init__(self._answer)
        self.master = master
        self.epoch = epoch

    def _answer(self, command: list[bytes]) -> Any:
        match command:
            case [b"SENTINEL", b"MASTER", b"rami"]:
                return [b"name", b"rami", b"config-epoch", b"%d" % self.epoch]
            case [b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", b"rami"]:
                return [b"127.0.0.1", b"%d" % self.master.port]
            case [b"SUBSCRIBE", channel]:
                return [b"subscribe", channel, 1]
        return Exception("ERR no such thing")


async def test_the_sentinel_with_the_latest_word_is_believed() -> None:
    async with (
        Node(lambda _: 1) as old,
        Node(lambda _: 2) as new,
        Sentinel(old, 3) as cut_off,
        Sentinel(new, 4) as one,
        Sentinel(new, 4) as two,
    ):
        url = f"redis+sentinel://{cut_off.place},{one.place},{two.place}/rami"
        async with connected(url, redis_timeout_seconds=30.0) as store:
            assert await store.run(ADD, [KEY], [1]) == 2
            # A master that takes no writes any more makes them be asked again.
            new.script = error("READONLY You can't write against a read only replica.")
            one.master = two.master = old
            one.epoch = two.epoch = 5
            with pytest.raises(StoreUnavailable):
                await store.run(ADD, [KEY], [1])
            await eventually(lambda: store.router.address_for(b"c") is not None, "a master is known")
            await eventually(
                lambda: [node.address.port for node in store.router.nodes] == [old.port], "the other master is followed"
            )
            assert await store.run(ADD, [KEY], [1]) == 1
