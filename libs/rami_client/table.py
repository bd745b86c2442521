"""One seat at a table: plays over a `Play` stream that is kept open for as long as the room lives.

An action that was sent when the stream broke is sent again on the next one with its first request id, once
that stream has said where the room stands: it applies once, or its refusal is the answer. So is one that the service
could not bring to its store, after a pause on the same stream. After a rewind nothing is sent again, because what the
action was chosen on did not happen.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import grpc

from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import room_pb2
from rami_client.calls import PASSING, is_cancelled, new_request_id
from rami_client.errors import (
    RamiClientError,
    RewoundError,
    RpcError,
    TableEndedError,
    UnavailableError,
    error_from_status,
)
from rami_client.follow import Follower
from rami_engine import MAX_ENTROPY_SIZE, SEED_SIZE
from rami_wire import action_to_proto

if TYPE_CHECKING:
    from rami.game.v1.game_service_pb2_grpc import GameServiceAsyncStub
    from rami_client.calls import Calls, Stream
    from rami_client.follow import News
    from rami_client.receipt import Receipt
    from rami_client.state import RoomMirror, Update
    from rami_engine import Action

_LOG: Final = logging.getLogger(__name__)
_ENTROPY_TOO_LATE: Final = frozenset({"ENTROPY_ALREADY_SET", "MATCH_ALREADY_STARTED"})

PlayStream = grpc.aio.StreamStreamCall[game.PlayRequest, game.PlayResponse]


@dataclass(slots=True, eq=False)
class _Pending:
    """An action whose caller waits."""

    request: game.PlayAction
    answer: asyncio.Future[int]
    since: float
    """When it was first sent, by the clock of the event loop."""
    sends: int = 0
    failures: int = 0
    """How often the service could not say what became of it."""


class Table(Follower):
    """A seat at a table. Made by `Client.table`; use it as an async context manager."""

    def __init__(
        self,
        stub: GameServiceAsyncStub,
        calls: Calls,
        room_id: str,
        mirror: RoomMirror,
        receipt: Receipt | None = None,
    ) -> None:
        super().__init__(calls, room_id, mirror)
        self.receipt = receipt
        """Where what is seen is written down; None for nowhere."""
        self._stub = stub
        self._play: PlayStream | None = None
        """The stream, once it has said where the room stands; None while there is none."""
        self._opening: PlayStream | None = None
        self._writing = asyncio.Lock()
        self._pending: dict[str, _Pending] = {}
        self._sent_again = 0
        self._repeats: set[asyncio.Task[None]] = set()
        self._entropy: asyncio.Task[None] | None = None

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        """What this seat may do now, in canonical order; empty unless it is to move.

        >>> [format_action(action) for action in table.legal_actions]
        ['stock', 'discard-pile']
        """
        return self._mirror.legal_actions

    @property
    def sent_again(self) -> int:
        """How often an action was sent once more, with its first request id, because its answer was lost."""
        return self._sent_again

    async def act(self, action: Action, *, expected_version: int | None = None) -> int:
        """Plays an action chosen on the version that is held, or on `expected_version`.

        The answer is the version of the room after it; by then `view` shows what it did. Raises
        ActionRefusedError with the reason of the rules, StaleVersionError when the room has moved on,
        RewoundError when its past was lost meanwhile, TableEndedError or what ended the table, and UnavailableError
        when the store stays away for longer than the retry policy waits. The action then did not apply, except that
        nobody can tell after the last two.

        >>> version = await table.act(DRAW_STOCK)
        >>> table.version == version, table.view.hand.bit_count()
        (True, 8)
        """
        if self._ended:
            raise self.error or TableEndedError("the table is closed")
        request = game.PlayAction(
            request_id=new_request_id(),
            expected_version=self.version if expected_version is None else expected_version,
            action=action_to_proto(action),
        )
        loop = asyncio.get_running_loop()
        pending = self._pending[request.request_id] = _Pending(request, loop.create_future(), loop.time())
        try:
            await self._ask(pending)
            return await pending.answer
        finally:
            self._pending.pop(request.request_id, None)

    async def wait_for_turn(self) -> bool:
        """Waits until this seat may act; False when the match is over. Raises what ended the table.

        >>> await table.wait_for_turn()
        True
        """
        while self.error is None and not self.over and not self._ended:
            if self.legal_actions:
                return True
            await self.changed()
        if self.error is not None:
            raise self.error
        return False

    async def close(self) -> None:
        """Ends the stream; the seat stays the player's. Idempotent.

        >>> await table.close()
        >>> table.ended
        True
        """
        entropy, self._entropy = self._entropy, None
        try:
            if entropy is not None:
                entropy.cancel()
                await asyncio.wait([entropy])
        finally:
            await super().close()

    def _open(self) -> PlayStream:
        self._play = None
        self._opening = self._stub.Play(metadata=self._calls.metadata(self.room_id))
        return self._opening

    async def _greet(self, stream: Stream) -> None:
        assert stream is self._opening, "a stream is greeted right after it was opened"
        hello = game.PlayHello(room_id=self.room_id, cursor=self._mirror.cursor, legal_actions=True)
        await self._send(self._opening, game.PlayRequest(hello=hello))

    async def _take(self, message: News) -> None:
        assert isinstance(message, game.PlayResponse), "a Play stream carries nothing else"
        if message.HasField("snapshot") and message.snapshot.rewound:
            for pending in self._pending.values():
                _fail(pending.answer, RewoundError("the room was set back before the action was answered"))
        for result in message.results:
            waiting = self._pending.get(result.request_id)
            if waiting is not None:  # else its caller did not wait for it
                self._settle(waiting, result)
        if self._play is None:
            self._play = self._opening
            for pending in list(self._pending.values()):
                await self._ask(pending)
        self._bring_entropy()

    def _settle(self, pending: _Pending, result: game.ActionResult) -> None:
        """Tells a caller what became of its action, unless the service itself does not know."""
        if not result.HasField("error"):
            if not pending.answer.done():
                pending.answer.set_result(result.version)
            return
        error = error_from_status(result.error)
        waited = asyncio.get_running_loop().time() - pending.since
        if not isinstance(error, UnavailableError) or waited > self._calls.retry.give_up_after_seconds:
            _fail(pending.answer, error)
            return
        pending.failures += 1
        pause = self._calls.retry.pause_seconds(pending.failures, error)
        repeat = asyncio.create_task(self._repeat(pending, pause), name=f"repeat {self.room_id}")
        self._repeats.add(repeat)
        repeat.add_done_callback(self._repeats.discard)

    async def _repeat(self, pending: _Pending, pause_seconds: float) -> None:
        """Sends an action once more after a pause; where there is no stream by then, the next one brings it."""
        await asyncio.sleep(pause_seconds)
        await self._ask(pending)

    async def _ask(self, pending: _Pending) -> None:
        """Sends an action that has no answer yet, if there is a stream."""
        if self._play is None or pending.answer.done():
            return
        self._sent_again += pending.sends > 0
        pending.sends += 1
        await self._send(self._play, game.PlayRequest(action=pending.request))

    async def _send(self, stream: PlayStream, request: game.PlayRequest) -> None:
        """Writes to a stream. Where that fails the reader finds out as well, and what is pending is sent
        again.
        """
        try:
            async with self._writing:
                await stream.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        except asyncio.CancelledError:
            if is_cancelled():
                raise

    def _record(self, update: Update) -> None:
        if self.receipt is not None:
            self.receipt.saw(update, self.seat)

    def _bring_entropy(self) -> None:
        """Brings entropy once the commitment is here: what comes before it could still be answered."""
        room = self.room
        if self._entropy is not None or room.status != room_pb2.ROOM_STATUS_LOBBY:
            return
        if len(room.commitment) == SEED_SIZE:
            self._entropy = asyncio.create_task(self._set_entropy(), name=f"entropy {self.room_id}")

    async def _set_entropy(self) -> None:
        entropy = secrets.token_bytes(MAX_ENTROPY_SIZE)
        if self.receipt is not None:
            self.receipt.brings(entropy)
        request = game.SetEntropyRequest(request_id=new_request_id(), room_id=self.room_id, entropy=entropy)
        failures = 0
        while True:
            try:
                await self._calls.unary(self._stub.SetEntropy, request, room_id=self.room_id)
            except PASSING as error:
                # It may have come, or not: only the same request can tell, and only it can be in the receipt.
                failures += 1
                await asyncio.sleep(self._calls.retry.pause_seconds(failures, error))
            except RpcError as error:
                if error.reason not in _ENTROPY_TOO_LATE:
                    _LOG.warning("the seat brings no entropy to room %s: %s", self.room_id, error)
                if self.receipt is not None:
                    self.receipt.withdraws_entropy()
                return
            else:
                return

    def _finish(self) -> None:
        self._play = None
        if self._entropy is not None:
            self._entropy.cancel()
        for repeat in self._repeats:
            repeat.cancel()
        for pending in self._pending.values():
            _fail(pending.answer, self.error or TableEndedError("the table was closed"))


def _fail(answer: asyncio.Future[int], error: RamiClientError) -> None:
    if not answer.done():
        answer.set_exception(error)
