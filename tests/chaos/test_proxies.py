"""The proxies of chaos runs: what they hand on, and that each cut comes at the moment it is named for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from rami_kit.errors import StoreUncertain
from rami_kit.metrics import Metrics
from rami_kit.redis_store import Script, Store
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings
from support.chaos_proxy import NOBODY, AnswerProxy
from support.chaos_resp import FrameSplitter, command_parts, frame_end, script_call
from support.chaos_store_proxy import StoreProxy
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_kit.embedded import EmbeddedStore
    from support.chaos_resp import ScriptCall

COMMIT = Script("commit", "return redis.call('INCR', KEYS[1])")
OTHER = Script("other", "return redis.call('INCR', KEYS[1])")
ROOM_KEY = "{p0}:room:abc"

FRAMES = [
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":-12\r\n",
    b"$5\r\na\r\nbc\r\n",
    b"$0\r\n\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*2\r\n$1\r\n*\r\n*2\r\n:1\r\n+x\r\n",
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_are_cut_out_byte_for_byte_however_they_arrive(size: int) -> None:
    data = b"".join(FRAMES)
    splitter = FrameSplitter()
    parts = [data[place : place + size] for place in range(0, len(data), size)]
    assert [frame for part in parts for frame in splitter.feed(part)] == FRAMES


def test_bytes_that_begin_no_frame_are_refused() -> None:
    with pytest.raises(ValueError, match="no frame begins"):
        frame_end(b"HELLO\r\n", 0)


def test_scripts_are_told_from_other_commands() -> None:
    frame = b"*5\r\n$7\r\nEVALSHA\r\n$2\r\nab\r\n$1\r\n1\r\n$13\r\n{p0}:room:abc\r\n$1\r\nx\r\n"
    assert command_parts(frame) == [b"EVALSHA", b"ab", b"1", b"{p0}:room:abc", b"x"]
    call = script_call(frame)
    assert call is not None
    assert (call.sha, call.keys, call.args) == ("ab", (b"{p0}:room:abc",), (b"x",))
    assert call.changes_room
    assert call.room_token == "abc"
    assert script_call(b"*2\r\n$3\r\nGET\r\n$4\r\nEVAL\r\n") is None


class Interruption:
    """A trap that comes once, at one hook."""

    def __init__(self, hook: str) -> None:
        self.late = hook == "before_late_script"
        self.calls: list[ScriptCall] = []
        self.times = 1
        self.go_on = asyncio.Event()
        self._hook = hook

    def __call__(self, call: ScriptCall) -> Interruption | None:
        self.calls.append(call)
        self.times -= 1
        return self if self.times == 0 else None

    async def before_script(self) -> bool:
        return self._hook != "before_script"

    async def after_script(self) -> bool:
        return self._hook != "after_script"

    async def before_reply(self) -> bool:
        return self._hook not in {"before_reply", "after_script"}

    async def before_late_script(self) -> None:
        await self.go_on.wait()


class Way:
    """A store reached through a proxy."""

    def __init__(self, proxy: StoreProxy, store: Store, trap: Interruption) -> None:
        self.proxy, self.store, self.trap = proxy, store, trap

    async def commit(self) -> int:
        count: int = await self.store.run(COMMIT, [ROOM_KEY], [])
        return count

    async def applied(self) -> int:
        return int(await self.store.read("GET", ROOM_KEY) or 0)


@pytest.fixture
async def way(store_url: str, embedded_store: EmbeddedStore, hook: str) -> AsyncIterator[Way]:
    del store_url  # asked for to find the store empty
    trap = Interruption(hook)
    async with StoreProxy(trap) as proxy:
        proxy.target_port = embedded_store.port
        url = f"redis://{proxy.address}/0"
        # Only who is kept waiting has to give up; all others are cut off, or answered.
        seconds = 3.0 if trap.late else 30.0
        store = await Store.connect(make_settings(ServiceSettings, url, redis_timeout_seconds=seconds), Metrics())
        # The first time the script itself has to be loaded; from then on a commit is one command.
        trap.times = 3
        await store.run(COMMIT, [ROOM_KEY], [])
        trap.times = 1
        try:
            yield Way(proxy, store, trap)
        finally:
            await store.close()


@pytest.mark.parametrize(("hook", "applied"), [("before_script", 1), ("before_reply", 2)])
async def test_a_commit_is_cut_off_at_its_moment(way: Way, applied: int) -> None:
    with pytest.raises(StoreUncertain):
        await way.commit()
    assert await way.applied() == applied
    assert await way.commit() == applied + 1


@pytest.mark.parametrize("hook", ["after_script"])
async def test_a_commit_that_was_sent_may_or_may_not_be_carried_out(way: Way) -> None:
    with pytest.raises(StoreUncertain):
        await way.commit()
    assert await way.commit() in {2, 3}


@pytest.mark.parametrize("hook", ["before_late_script"])
async def test_a_late_commit_arrives_when_its_caller_has_given_up(way: Way) -> None:
    with pytest.raises(StoreUncertain):
        await way.commit()
    assert await way.applied() == 1
    way.trap.go_on.set()
    await eventually(lambda: not way.proxy.delivering, "the late script has been carried out")
    assert await way.applied() == 2


@pytest.mark.parametrize("hook", ["before_script"])
async def test_other_scripts_and_commands_pass(way: Way) -> None:
    assert await way.store.run(OTHER, ["{p0}:due"], []) == 1
    assert await way.store.read("GET", "{p0}:due") == b"1"
    assert [call.keys for call in way.trap.calls] == [(ROOM_KEY.encode(),)] * len(way.trap.calls)


async def test_answers_that_are_kept_back_are_never_seen() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
            said.append(data)
        writer.close()

    said: list[bytes] = []
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, AnswerProxy() as proxy:
        proxy.target_port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")
        assert await reader.read(100) == b"one"
        proxy.keep_answers_back()
        writer.write(b"two")
        async with asyncio.timeout(60):
            await proxy.withheld.wait()
        assert said == [b"one", b"two"]
        proxy.let_answers_through()
        with pytest.raises((ConnectionError, EOFError)):
            await reader.readexactly(1)
        writer.transport.abort()
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"three")
        assert await reader.read(100) == b"three"
        writer.transport.abort()


@pytest.mark.parametrize("port", [NOBODY, 1])
async def test_nobody_behind_a_proxy_means_to_be_cut_off(port: int) -> None:
    async with AnswerProxy() as proxy:
        proxy.target_port = port
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        with pytest.raises((ConnectionError, EOFError)):
            await reader.readexactly(1)
        writer.transport.abort()
