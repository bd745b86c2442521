"""What a scripted match costs, counted and not timed: commands of the store, encodings of events, calls of the engine.

Two people play over Play with legal actions, three others watch; two bots play where nobody watches. The figures beside
`PLAYED` are what the code needs at present. A change that needs more fails here; one that needs less lowers the figure
in the same commit.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack, aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import rami_engine
from game_state.actions import ActionPlayer
from game_state.decider import Decider
from game_state.decision_line import Answer
from game_state.driver import Driver
from game_state.events import CommittedStep
from game_state.play_stream import played_stream
from game_state.stuck import StuckRooms
from rami.ai.v1 import decision_service_pb2 as ai_pb
from rami.game.v1 import game_service_pb2 as pb
from support.game_node import Node, game_node
from support.game_store import StoreView
from support.game_tables import TIMES, Table, table_options

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    import pytest

PLAYED = 60
"""Actions of the script that are counted, all within one round or two."""
WARM = 5
"""Actions before: the script is loaded, everything is in memory."""
WATCHERS = ("carol", "dave", "erin")
COMMANDS = {"evalsha": 1, "getrange": 1, "xadd": 1, "set": 1, "zadd": 1, "pexpire": 1, "spublish": 1}
"""Commands of the store for an action, the ones of its script included: one call, one commit, no read."""
ENCODINGS = 1.2
"""Encodings of an event on average, however many watch: one where nothing is hidden, one more for a seat that draws
from the stock, and one for each kind of viewer where cards are dealt.
"""
SERIALIZED = 3.0
"""Protobuf messages made into bytes, for an action, on average."""
RULES = {"check": 0.0, "apply": 1.0, "legal_actions": 1.0, "copy": 1.0}
"""What asks the rules or copies a match, for an action: it is judged while it is played, and whoever is next gets the
list of legal ones.
"""
ENGINE_CALLS = 6.7
"""Calls from outside into the engine, for an action, on average, conversions of cards and actions included."""
BOT_SERIALIZED = 3.7
"""Protobuf messages made into bytes, for an action of a bot at a table of bots alone: what stands beside its view, and
what is new to it and kept.
"""
BOT_RULES = {"check": 0.0, "apply": 1.0, "legal_actions": 1.0, "seat_view": 1.0, "copy": 1.0}
"""As RULES, for an action of a bot: it gets one view and one list, and nobody else gets any."""
BOT_ENGINE_CALLS = 7.7
"""As ENGINE_CALLS; the most are for what is new to a bot and kept."""
ENGINE = str(Path(rami_engine.__file__).parent)
BOOKKEEPING = frozenset(
    {"info", "config", "config|resetstat", "time", "hello", "client", "client|setname", "script", "ping", "command"}
)
"""What a connection or this test asks for, whatever is played."""
STEP_SECONDS = 20.0


class Counted:
    """What this thread did while it was looked at."""

    def __init__(self) -> None:
        self.serialized = 0
        self.engine: Counter[str] = Counter()

    def profile(self, frame: Any, event: str, what: Any) -> None:
        """For sys.setprofile."""
        if event == "c_call":
            if what.__name__ in ("SerializeToString", "SerializePartialToString"):
                self.serialized += 1
        elif event == "call" and frame.f_code.co_filename.startswith(ENGINE):
            name, caller = frame.f_code.co_name, frame.f_back
            outside = caller is not None and not caller.f_code.co_filename.startswith(ENGINE)
            if outside and not name.startswith("<"):
                self.engine[name] += 1


@contextmanager
def looking(counted: Counted) -> Iterator[None]:
    sys.setprofile(counted.profile)
    try:
        yield
    finally:
        sys.setprofile(None)


class Seat:
    """A person on Play, and what the stream has told."""

    def __init__(self, node: Node, room_id: str, player_id: str) -> None:
        self._requests: asyncio.Queue[pb.PlayRequest] = asyncio.Queue()
        self._requests.put_nowait(pb.PlayRequest(hello=pb.PlayHello(room_id=room_id, legal_actions=True)))
        self.messages = self._told(node, player_id)
        self.legal: pb.PlayResponse | None = None
        self.version = 0

    async def _told(self, node: Node, player_id: str) -> AsyncGenerator[bytes]:
        actions = ActionPlayer(node.changer, node.metrics)
        async with (
            played_stream(node.parts, actions, player_id, self._sent()) as stream,
            aclosing(stream.messages()) as messages,
        ):
            async for message in messages:
                yield message

    async def _sent(self) -> AsyncIterator[pb.PlayRequest]:
        while True:
            yield await self._requests.get()

    async def until(self, version: int) -> None:
        """Reads on to an event of this version, or a snapshot of it."""
        while self.version < version:
            message = pb.PlayResponse.FromString(await anext(self.messages))
            for result in message.results:
                assert result.HasField("version"), result
            self.version = max([self.version, message.snapshot.room.version, *(e.version for e in message.events)])
            self.legal = message if message.legal_actions.actions else None

    def act(self, chance: random.Random) -> None:
        assert self.legal is not None
        legal = self.legal.legal_actions
        action = legal.actions[chance.randrange(len(legal.actions))]
        request_id = str(UUID(int=chance.getrandbits(128), version=4))
        self._requests.put_nowait(
            pb.PlayRequest(action=pb.PlayAction(request_id=request_id, expected_version=legal.version, action=action))
        )
        self.legal = None


async def played(node: Node, room_id: str, store: StoreView, counted: Counted) -> dict[str, int]:
    """Plays the script with everybody listening; commands of the store, without bookkeeping, while it was counted."""
    chance = random.Random(7)
    version = store.room(room_id).version
    async with AsyncExitStack() as stack:
        seats = [Seat(node, room_id, player) for player in ("alice", "bob")]
        watches = []
        for player in WATCHERS:
            stream = await stack.enter_async_context(node.stream(room_id, player))
            watches.append(await stack.enter_async_context(aclosing(stream.messages())))
        for seat in seats:
            await stack.enter_async_context(aclosing(seat.messages))
        for seat in seats:
            await seat.until(version)
        for watch in watches:
            await anext(watch)

        async def play(until: int) -> None:
            nonlocal version
            while version < until:
                version += 1
                next(seat for seat in seats if seat.legal is not None).act(chance)
                async with asyncio.timeout(STEP_SECONDS):
                    for seat in seats:
                        await seat.until(version)
                    for watch in watches:
                        await anext(watch)

        await play(version + WARM)
        store.client.config_resetstat()
        with looking(counted):
            await play(version + PLAYED)
        stats: dict[str, Any] = store.client.info("commandstats")
    commands = {name.removeprefix("cmdstat_"): int(entry["calls"]) for name, entry in stats.items()}
    return {name: calls for name, calls in commands.items() if name not in BOOKKEEPING}


async def test_an_action_needs_no_more_than_before(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: dict[int, set[int]] = {}
    kept = []
    make = CommittedStep.encoded

    def encode(step: CommittedStep, viewer: int | None) -> bytes:
        made = make(step, viewer)
        kept.append(made)  # so that no other takes its place in memory
        encoded.setdefault(step.version, set()).add(id(made))
        return made

    monkeypatch.setattr(CommittedStep, "encoded", encode)
    table = Table(["alice", "bob"], options=table_options(spectators_allowed=True, turn_limit_ms=0))
    table.start()
    counted = Counted()
    async with game_node(store_url) as node:
        with StoreView(store_url) as store:
            store.plant(table)
            commands = await played(node, table.room.room_id, store, counted)

    assert {name: calls / PLAYED for name, calls in commands.items()} == COMMANDS
    assert sum(map(len, encoded.values())) / len(encoded) <= ENCODINGS
    assert counted.serialized / PLAYED <= SERIALIZED
    assert {name: counted.engine[name] / PLAYED for name in RULES} == RULES
    assert counted.engine.total() / PLAYED <= ENGINE_CALLS, counted.engine


class Bots:
    """Who decides for all bots: at once, with a draw from the stock or the last legal action. Looks at what is played
    between the decisions, and keeps the last one waiting.
    """

    def __init__(self, counted: Counted, store: StoreView) -> None:
        self.counted = counted
        self.store = store
        self.asked = 0
        self.done = asyncio.Event()

    def source(self, _bot: str) -> Bots:
        return self

    async def ask(self, request: bytes, _seconds: float, _tried: set[str]) -> Answer:
        sys.setprofile(None)
        await asyncio.sleep(0)  # as if the answer had come from elsewhere
        legal = ai_pb.DecideRequest.FromString(request).legal_actions
        self.asked += 1
        if self.asked == WARM:
            self.store.client.config_resetstat()
        elif self.asked == WARM + PLAYED:
            self.done.set()
            await asyncio.Event().wait()
        if self.asked >= WARM:
            sys.setprofile(self.counted.profile)
        return Answer("ok", 0 if legal[0].HasField("draw_stock") else len(legal) - 1)


async def test_an_action_of_a_bot_needs_no_more_than_before(store_url: str) -> None:
    table = Table(["bot:easy", "bot:easy"], host="alice", options=table_options(turn_limit_ms=0))
    table.now_ms = time.time_ns() // 1_000_000
    table.start()
    counted = Counted()
    async with game_node(store_url) as node:
        with StoreView(store_url) as store:
            store.plant(table)
            bots = Bots(counted, store)
            # In the place of a client and of its lines: what a decider asks of either.
            decider = Decider(bots, node.metrics, b"key", STEP_SECONDS, STEP_SECONDS)  # type: ignore[arg-type]
            driver = Driver(
                node.repository,
                node.changer,
                decider,
                autopilot_bot="easy",
                lease_ms=TIMES.lease_ms,
                stuck=StuckRooms(node.metrics),
            )
            node.repository.add_listener(driver)
            try:
                driver.attend(table.room.room_id)
                async with asyncio.timeout(STEP_SECONDS):
                    await bots.done.wait()
                stats: dict[str, Any] = store.client.info("commandstats")
            finally:
                await driver.close()
    commands = {name.removeprefix("cmdstat_"): int(entry["calls"]) for name, entry in stats.items()}
    assert {name: calls / PLAYED for name, calls in commands.items() if name not in BOOKKEEPING} == COMMANDS
    assert counted.serialized / PLAYED <= BOT_SERIALIZED
    assert {name: counted.engine[name] / PLAYED for name in BOT_RULES} == BOT_RULES
    assert counted.engine.total() / PLAYED <= BOT_ENGINE_CALLS, counted.engine
