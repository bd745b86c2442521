"""How a call is made: channels, metadata, deadlines, request ids, and which failures are tried again.

A mutation is repeated with the request id it was first sent with, so that it applies once however often it is
sent. Only UNAVAILABLE, DEADLINE_EXCEEDED and what an overloaded cluster drops are tried again: everything else is
an answer.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from random import SystemRandom
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import grpc

from rami_client.errors import (
    DeadlineExceededError,
    OverloadedError,
    RpcError,
    UnavailableError,
    error_from_call,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_client.follow import Follower

Request = TypeVar("Request")
Response = TypeVar("Response")

ROOM_METADATA: Final = "rami-room-id"
"""Lets an edge route all calls of a room to one replica."""

_CHANNEL_OPTIONS: Final[Sequence[tuple[str, int]]] = (
    # A phone that changes networks leaves half-open connections: pings find them. Servers allow one in 5 s.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Who only watches sends nothing for a long time: the pings must not end after two.
    ("grpc.http2.max_pings_without_data", 0),
    # A restarted server is found again within a second, not within gRPC's default of up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Retries are this module's. The core only moves what no server has seen off a connection that is ending.
    ("grpc.enable_retries", 1),
)
_RANDOM: Final = SystemRandom()
PASSING: Final = (UnavailableError, DeadlineExceededError, OverloadedError)
"""What is no answer: the same request may be sent again."""


class Stream(Protocol):
    """The part of a grpc.aio stream call that is read; `read` gives a message or grpc.aio.EOF."""

    async def read(self) -> object: ...

    def cancel(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast a failed call or stream is tried again."""

    attempts: int = 5
    """How often a unary call is sent at most."""
    first_backoff_seconds: float = 0.1
    """The longest pause before the second attempt; doubles with each further one."""
    max_backoff_seconds: float = 3.0
    """Where the doubling ends."""
    give_up_after_seconds: float = 60.0
    """How long a stream may stay broken before its follower ends with the last error."""
    silence_limit_seconds: float = 50.0
    """Servers send a heartbeat on quiet streams; one that says nothing for so long is taken for dead."""

    def pause_seconds(self, failures: int, error: RpcError | None = None) -> float:
        """How long to wait after so many failures in a row (1 or more): random, and never less than the
        server asks for. Who was told the same pause does not come back at the same moment.

        >>> 0.2 <= RetryPolicy(first_backoff_seconds=0.1).pause_seconds(3) <= 0.4
        True
        """
        longest = min(self.max_backoff_seconds, self.first_backoff_seconds * 2.0 ** min(failures - 1, 16))
        asked = error.retry_after_seconds if error is not None else None
        return max(_RANDOM.uniform(longest / 2, longest), _RANDOM.uniform(1.0, 1.25) * (asked or 0.0))


def open_channel(target: str, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    """A channel to a gRPC target; plain text without credentials. Connects with the first call."""
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=_CHANNEL_OPTIONS)
    return grpc.aio.secure_channel(target, credentials, options=_CHANNEL_OPTIONS)


def new_request_id() -> str:
    """A fresh UUID version 4 in canonical text form."""
    return str(uuid.uuid4())


class Calls:
    """Makes the calls of one signed-in player. `token` may change while calls are made."""

    def __init__(self, token: str | None, deadline_seconds: float, retry: RetryPolicy, languages: str = "") -> None:
        self.token = token
        """The bearer token; None before signing in."""
        self.languages = languages
        """What the player reads, as in an accept-language header; empty for not told."""
        self.deadline_seconds = deadline_seconds
        self.retry = retry
        self.closed = False
        """The client was closed: nothing is tried again."""
        self.followers: dict[Follower, None] = {}
        """Tables and watches that go on, in the order in which they began."""

    def metadata(self, room_id: str = "") -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        pairs: list[tuple[str, str]] = []
        if self.token is not None:
            pairs.append(("authorization", f"Bearer {self.token}"))
        if self.languages:
            pairs.append(("accept-language", self.languages))
        if room_id:
            pairs.append((ROOM_METADATA, room_id))
        return tuple(pairs)

    async def next_message(self, stream: Stream) -> object:
        """What reading a stream gives. Raises UnavailableError for one that has gone silent or was cancelled, and what
        reading does.
        """
        try:
            async with asyncio.timeout(self.retry.silence_limit_seconds):
                return await stream.read()
        except TimeoutError:
            raise UnavailableError(grpc.StatusCode.UNAVAILABLE, "the stream has gone silent") from None
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise UnavailableError(grpc.StatusCode.UNAVAILABLE, "the stream was cancelled") from None

    async def pause(self, failures: int, error: RpcError) -> None:
        """Waits before another attempt. Raises the error where there is none, because the client was closed."""
        if not self.closed:
            await asyncio.sleep(self.retry.pause_seconds(failures, error))
        if self.closed:
            raise error

    async def unary(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        *,
        room_id: str = "",
    ) -> Response:
        """The answer to a call, which is sent again while nobody answers. Raises RpcError."""
        failures = 0
        while True:
            try:
                return await method(request, timeout=self.deadline_seconds, metadata=self.metadata(room_id))
            except grpc.aio.AioRpcError as failure:
                error = error_from_call(failure)
                failures += 1
                if not isinstance(error, PASSING) or failures >= self.retry.attempts:
                    raise error from failure
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
                raise UnavailableError(grpc.StatusCode.UNAVAILABLE, "the client was closed") from None
            await self.pause(failures, error)


def is_cancelled() -> bool:
    """Whether it is the running task that was cancelled, and not just a call that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
