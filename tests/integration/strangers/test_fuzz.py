"""Fifty thousand broken requests to every method of the running services, many at once.

No answer may be a defect (INTERNAL, UNKNOWN), no process may end, write an error to its log or grow, and afterwards a
match is played as if nothing had been. RAMI_FUZZ_SEED and RAMI_FUZZ_MESSAGES choose other ones and more; a failure
names its seed and the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import grpc.aio
import pytest
from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from rami_kit.testing import bearer, player, player_token, service
from support.contract import Method, common_methods, contract_methods
from support.fuzz_world import PEOPLE, FuzzWorld
from support.fuzzing import Fuzzer
from support.game_cluster import Player, room_options
from support.game_streams import PlayStream, Watch, play_over
from support.three_services import ThreeServices

if TYPE_CHECKING:
    from pathlib import Path

SEED: Final = int(os.environ.get("RAMI_FUZZ_SEED", "20261130"))
MESSAGES: Final = int(os.environ.get("RAMI_FUZZ_MESSAGES", "52000"))
AT_ONCE: Final = 32
RENEW_EVERY: Final = 1500
PLAY_SHARE: Final = 2
"""As many streams of actions for each job of another method."""
STREAM_MESSAGES: Final = 150
INNER: Final = {"GameService/Play": "action", "DecisionService/DecideMany": "request"}
"""The field of a stream's messages in which they may be wrong without ending it."""
CALL_SECONDS: Final = 60.0
ENOUGH: Final = 300
"""Of so many calls of a method some must have been let through, or they do not go deep."""
GROWTH_BYTES: Final = 96 << 20
"""What a process may grow by after the first third: caches and the allocator, not what each message leaves behind."""
END_OF_STREAM: Final = b"\xff\xff"
"""No message at all: whatever stream it comes on, ends."""

DEFECTS: Final = {"INTERNAL", "UNKNOWN", "DATA_LOSS", "UNIMPLEMENTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"}
OF_THE_CLIENT: Final = "Internal error from Core"
"""What the client's own library makes of a write to a stream that the service has ended meanwhile."""
CODES: Final = {code.value[0]: code.name for code in grpc.StatusCode}
SERVICES_ONLY: Final = {"DecisionService", "MatchRoomService"}


class Job(NamedTuple):
    """A call and what is sent in it."""

    method: Method
    messages: list[bytes]
    metadata: tuple[tuple[str, str], ...]


class Fuzzing:
    """A run: makes jobs from one random source, and does them."""

    def __init__(self, cluster: ThreeServices, seed: int) -> None:
        self._cluster = cluster
        self._chance = random.Random(seed)
        self._fuzzer = Fuzzer(self._chance)
        self.world = FuzzWorld(cluster, self._chance)
        methods = contract_methods() + [method for name in cluster.services for method in common_methods(name)]
        self._methods = methods + [method for method in methods if method.name == "GameService/Play"] * PLAY_SHARE
        self.sent = 0
        self.codes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._tokens = {name: player(name, name=name.title()) for name in PEOPLE}
        self._wrong = [
            (),
            bearer("x"),
            bearer(player_token("ann", exp=9)),
            service("rami-other"),
            (("authorization", "Basic eDp4"),),
        ]

    async def run(self, messages: int) -> None:
        """So many messages more."""
        goal = self.sent + messages
        while self.sent < goal:
            await self.world.renew()
            self._services = {name: service(f"rami-{name}") for name in self._cluster.services}
            until = min(goal, self.sent + RENEW_EVERY)
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(self._work(until))

    async def _work(self, until: int) -> None:
        while self.sent < until:
            job = self._job()
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    for code in await self._do(job):
                        self.codes[job.method.name][code] += 1
                        assert code not in DEFECTS, code
            except (AssertionError, TimeoutError) as error:
                shown = " ".join(raw[:2000].hex() for raw in job.messages)
                raise AssertionError(
                    f"seed {SEED}, message {self.sent}: {job.method.path} {error!r}: {shown}"
                ) from error

    def _job(self) -> Job:
        method = self._chance.choice(self._methods)
        return Job(method, self._messages(method), self._metadata(method))

    def _messages(self, method: Method) -> list[bytes]:
        name, descriptor = method.name, method.descriptor
        if not descriptor.client_streaming:
            return [self._fuzzer.broken(self.world.valid(name, method.request))]
        first = []
        if name == "GameService/Play":
            hello = self.world.hello()
            first = [self._fuzzer.broken(hello) if self._chance.random() < 0.1 else hello.SerializeToString()]
        return first + [self._said(method) for _ in range(self._chance.randint(1, STREAM_MESSAGES))]

    def _said(self, method: Method) -> bytes:
        """One message of many. A stream ends with the first that is not understood, so most are wrong further down."""
        message, kind = self.world.valid(method.name, method.request), self._chance.random()
        inner = INNER.get(method.name)
        if kind < 0.01:
            return self._fuzzer.broken(message)
        if kind < 0.03 or inner is None:
            return self._fuzzer.distorted(message).SerializeToString()
        part = getattr(message, inner)
        part.CopyFrom(self._fuzzer.distorted(part))
        return message.SerializeToString()

    def _metadata(self, method: Method) -> tuple[tuple[str, str], ...]:
        if self._chance.random() < 0.06:
            return self._chance.choice(self._wrong)
        if method.name.partition("/")[0] in SERVICES_ONLY and self._chance.random() < 0.95:
            return self._services[method.process]
        name = self._chance.choice(PEOPLE)
        if method.name in {
            "MatchmakingService/GetTicket",
            "MatchmakingService/CancelTicket",
            "MatchmakingService/WatchTicket",
        }:
            return player(self.world.ticket_owner)
        return self._tokens[name]

    async def _do(self, job: Job) -> list[str]:
        """Make the call; the codes of all its answers."""
        channel: Any = self._cluster[job.method.process].channel
        descriptor = job.method.descriptor
        try:
            if descriptor.client_streaming:
                return await self._talk(channel, job)
            self.sent += 1
            if descriptor.server_streaming:
                return [await _first(channel.unary_stream(job.method.path)(job.messages[0], metadata=job.metadata))]
            unary = channel.unary_unary(job.method.path)
            await unary(job.messages[0], metadata=job.metadata, timeout=CALL_SECONDS)
        except grpc.aio.AioRpcError as error:
            return [error.code().name]
        return ["OK"]

    async def _talk(self, channel: Any, job: Job) -> list[str]:
        call = channel.stream_stream(job.method.path)(metadata=job.metadata)

        async def say() -> None:
            # The service may end the stream in the middle.
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                for raw in (*job.messages, END_OF_STREAM):
                    await call.write(raw)
                    self.sent += 1

        saying = asyncio.create_task(say())
        codes = []
        try:
            while (answer := await call.read()) is not grpc.aio.EOF:
                codes += _results(job.method, answer)
        except grpc.aio.AioRpcError:
            pass  # how it ended is asked for below
        finally:
            call.cancel()  # has no effect on a stream that is over
            saying.cancel()
            await asyncio.wait([saying])
        code = await call.code()
        details = await call.details()
        if code is not grpc.StatusCode.INTERNAL or not details.startswith(OF_THE_CLIENT):
            codes.append(code.name)
        return codes


async def _first(call: Any) -> str:
    """The code with which a stream ends before its first message; OK when there is one."""
    answer = await call.read()
    if answer is grpc.aio.EOF:
        return str((await call.code()).name)
    call.cancel()
    return "OK"


def _results(method: Method, answer: bytes) -> list[str]:
    """The codes of the answers that a message of a stream brings to what was said on it."""
    try:
        message: Any = message_factory.GetMessageClass(method.descriptor.output_type).FromString(answer)
    except DecodeError:
        raise AssertionError("an answer does not parse") from None
    if method.name == "GameService/Play":
        return [_code(result) for result in message.results]
    if method.name == "DecisionService/DecideMany":
        # A broken request may wait for no more than a nanosecond.
        return [_code(message).replace("DEADLINE_EXCEEDED", "OK")]
    return ["OK"]


def _code(result: Any) -> str:
    return CODES[result.error.code] if result.HasField("error") else "OK"


@pytest.mark.timeout(900)
async def test_no_request_is_a_defect(store_url: str, tmp_path: Path) -> None:
    values = {
        "rate_per_player": 0,
        "rate_per_address": 0,
        "guest_rate_per_address": 0,
        "wrong_codes_per_address": 0,
        "max_rooms_per_player": 0,
        "kept_rooms": 200,
        "heartbeat_seconds": 0.2,
        "max_turns_per_round": 8,
        "max_turns_per_match": 16,
    }
    async with ThreeServices(store_url, tmp_path, **values) as cluster:
        fuzzing = Fuzzing(cluster, SEED)
        await fuzzing.run(MESSAGES // 3)
        before = {name: running.resident_bytes() for name, running in cluster.services.items()}
        await fuzzing.run(MESSAGES - fuzzing.sent)
        for name, running in cluster.services.items():
            growth = running.resident_bytes() - before[name]
            assert growth < GROWTH_BYTES, f"seed {SEED}: {name} has grown by {growth >> 20} MB"
        assert fuzzing.sent >= MESSAGES
        for method in contract_methods():
            assert fuzzing.codes[method.name], f"{method.path} was never called"
            codes = fuzzing.codes[method.name]
            assert codes["OK"] or codes.total() < ENOUGH, f"{method.path}: nothing got through: {codes}"
        for name, running in cluster.services.items():
            for line in (await running.metrics()).splitlines():
                told = line.startswith("rami_grpc_handled_total") and any(f'code="{code}"' in line for code in DEFECTS)
                assert not told or line.endswith(" 0.0") or 'code="CANCELLED"' in line, f"seed {SEED}: {name}: {line}"
        await play_a_match(cluster)
    for name, running in cluster.services.items():
        errors = [line for line in running.logged().splitlines() if '"ERROR"' in line or "Traceback" in line]
        assert not errors, f"seed {SEED}: {name} logged {errors[0][:2000]}"


async def play_a_match(cluster: ThreeServices) -> None:
    """Two people and a bot, to the end, under the eyes of a spectator."""
    ann, bob, eve = (Player(name, cluster["game"].channel) for name in ("zoe", "max", "kim"))
    room = await ann.create(room_options(3, target=100), {2: "hard"})
    await bob.join(room.room_id)
    async with PlayStream(ann, room.room_id) as first, PlayStream(bob, room.room_id) as second:
        watch = Watch(eve, room.room_id)
        await ann.start(room.room_id)
        await play_over({0: first, 1: second}, random.Random(1))
        await watch.until(lambda: watch.mirror.room.HasField("result"))
        await watch.close()
