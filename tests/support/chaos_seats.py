"""Players who hold a seat: they choose among legal actions and see each through, whatever breaks meanwhile.

A `UnaryPlayer` acts by SubmitAction, at any replica; a `StreamPlayer` on the Play stream that it follows the room by.
Whatever is left open is asked for again with the same request id, until it is clear what became of it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import grpc.aio

from rami.game.v1 import game_service_pb2 as pb
from rami_kit.errors import from_rpc_error
from support.chaos_evidence import OK, UNCERTAIN, answer_of
from support.chaos_journal import Answered, Asked
from support.chaos_players import CALL_SECONDS, PAUSE_SECONDS, Spectator, is_cancelled, outcome
from support.game_cluster import request_id

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from rami.game.v1 import action_pb2, event_pb2
    from support.chaos_journal import Journal

TWICE_AT_ONCE = 0.1
"""How often an action is sent to two replicas at once, with one request id."""
RIVAL = 0.05
"""How often another action on the same version is sent to another replica at once."""


class SeatedPlayer(Spectator, ABC):
    """Somebody who also plays: what unary and streaming players share."""

    def __init__(
        self,
        name: str,
        addresses: Sequence[str],
        journal: Journal,
        chance: random.Random,
        *,
        replica: int = 0,
        think_seconds: float = 0.02,
    ) -> None:
        super().__init__(name, addresses, journal, chance, replica=replica)
        self.think_seconds = think_seconds
        """How long the player takes over an action, on average."""
        self._legal: event_pb2.LegalActions | None = None
        self._acted_on = 0
        self._turn = asyncio.Event()
        self.resting = False
        """Begins no further action."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def rest(self) -> None:
        """Begin no further action; returns when the one that was begun is seen through."""
        self.resting = True
        await self._idle.wait()

    def may_act(self, legal: event_pb2.LegalActions) -> None:
        if legal.version > self._acted_on:
            self._legal = legal
            self._turn.set()

    def forget_turn(self) -> None:
        self._legal, self._acted_on = None, 0
        self._turn.clear()

    async def live(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.follow())
            tasks.create_task(self._act())

    async def _act(self) -> None:
        while True:
            await self._turn.wait()
            self._turn.clear()
            await asyncio.sleep(self.chance.uniform(0, 2 * self.think_seconds))
            legal, self._legal = self._legal, None
            if legal is not None and legal.version >= self.version and not self.resting:
                self._acted_on = legal.version
                self._idle.clear()
                await self.play(legal)
                self._idle.set()

    @abstractmethod
    async def play(self, legal: event_pb2.LegalActions) -> None:
        """Choose one of the legal actions and see it through."""

    def choose(self, legal: event_pb2.LegalActions) -> action_pb2.Action:
        """A legal action: often a meld or lay-off where there is one, else any."""
        laying = [action for action in legal.actions if action.WhichOneof("kind") in ("meld", "lay_off")]
        return self.chance.choice(laying if laying and self.chance.random() < 0.7 else list(legal.actions))

    def write_asked(self, call: int, request: str, version: int, action: action_pb2.Action, replica: int) -> None:
        """Write down what is about to be asked."""
        encoded = action.SerializeToString()
        self.journal.write(Asked(self.journal.now(), self.room, self.name, call, request, version, encoded, replica))

    def look_into(self, current_version: int) -> None:
        """The room is said to be at a version. Before the player's own, its past has been lost."""
        if 0 <= current_version < self.version:
            self.reopen()


class UnaryPlayer(SeatedPlayer):
    """Watches on one stream and acts by unary calls, at any replica."""

    impatience = 0.1
    """How often it gives a call up after an instant, at any moment of the call's life, and repeats it."""

    async def play(self, legal: event_pb2.LegalActions) -> None:
        request, action = request_id(), self.choose(legal)
        sends = [self._see_through(request, legal.version, action, self._any_replica())]
        dice = self.chance.random()
        if len(self.stubs) > 1 and dice < TWICE_AT_ONCE:
            sends.append(self._see_through(request, legal.version, action, self._any_replica()))
        elif len(self.stubs) > 1 and dice < TWICE_AT_ONCE + RIVAL:
            rival = self.choose(legal)
            sends.append(self._see_through(request_id(), legal.version, rival, self._any_replica()))
        await asyncio.gather(*sends)

    async def _see_through(self, request: str, version: int, action: action_pb2.Action, replica: int) -> None:
        """Send an action again and again until it is clear what became of it."""
        while not await self.submit(request, version, action, replica):
            await asyncio.sleep(PAUSE_SECONDS)
            replica = self._any_replica()

    async def submit(self, request: str, version: int, action: action_pb2.Action, replica: int) -> bool:
        """Send an action once; whether it is clear what became of it."""
        journal, call = self.journal, self.journal.number()
        message = pb.SubmitActionRequest(
            request_id=request, room_id=self.room, expected_version=version, action=action, legal_actions=True
        )
        self.write_asked(call, request, version, action, replica)
        seconds = self.chance.uniform(0.001, 0.02) if self.chance.random() < self.impatience else CALL_SECONDS
        try:
            response = await self.stubs[replica].SubmitAction(message, timeout=seconds, metadata=self.metadata)
        except grpc.aio.AioRpcError as error:
            code, reason = outcome(error)
            current = int(from_rpc_error(error).metadata.get("current_version", "-1"))
            journal.write(Answered(journal.now(), call, code, reason, current))
            if code in UNCERTAIN:
                return False
            self.look_into(current)
            return True
        journal.write(Answered(journal.now(), call, OK, event=response.event.SerializeToString()))
        self.take_event(response.event)
        if response.HasField("legal_actions"):
            self.may_act(response.legal_actions)
        return True

    def _any_replica(self) -> int:
        return self.chance.randrange(len(self.stubs))


class StreamPlayer(SeatedPlayer):
    """Watches and acts on one Play stream; what is open when it breaks is sent again on the next."""

    _open: pb.PlayAction | None = None

    async def live(self) -> None:
        self._saying = asyncio.Lock()
        self._heard = asyncio.Event()
        await super().live()

    async def open_stream(self) -> None:
        stream = self.stubs[self.replica].Play(metadata=self.metadata)
        try:
            hello = pb.PlayHello(room_id=self.room, cursor=self.cursor, legal_actions=True)
            await stream.write(pb.PlayRequest(hello=hello))
        except asyncio.InvalidStateError:
            pass  # it is over already: reading it says why
        finally:
            self.stream = stream
        if self._open is not None:
            await self._say(self._open)

    async def play(self, legal: event_pb2.LegalActions) -> None:
        self._open = pb.PlayAction(request_id=request_id(), expected_version=legal.version, action=self.choose(legal))
        await self._say(self._open)
        while self._open is not None:
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    await self._heard.wait()
            except TimeoutError:
                self.reopen()
                continue
            self._heard.clear()
            if self._open is not None:
                await asyncio.sleep(PAUSE_SECONDS)
                await self._say(self._open)

    async def _say(self, action: pb.PlayAction) -> None:
        """Ask for an action on the stream that is open now; without one, the next stream asks for it."""
        async with self._saying:
            stream = self.stream
            if stream is None:
                return
            self.write_asked(
                self.journal.number(), action.request_id, action.expected_version, action.action, self.replica
            )
            try:
                await stream.write(pb.PlayRequest(action=action))
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                pass  # the stream has broken, and whoever reads it finds out
            except asyncio.CancelledError:
                if is_cancelled():
                    raise

    def take(self, message: Any) -> None:
        super().take(message)
        for result in message.results:
            answer = answer_of(result, self.journal.now())
            if self._open is None or result.request_id != self._open.request_id:
                continue
            self._heard.set()
            if answer.code not in UNCERTAIN:
                self._open = None
                self.look_into(answer.current_version)
