"""What stands between the wire and every handler: identity, limits, parsing, errors and RPC metrics.

Each method's handler is wrapped once and the wrapper kept, so that a call pays only for what it uses. Raw
bytes come in and are parsed here, which is how a malformed message becomes a status of ours; messages or
bytes that are already encoded go out. The order of refusals: identity, rate, deadline, size, form.

This is the only place where an error becomes a status. gRPC's abort raises a plain Exception, which a broad
`except` in a handler would swallow: handlers raise RamiError and know nothing of abort.

A stream is one RPC for the metrics, ends UNAUTHENTICATED when its token does, and UNAVAILABLE, for the client
to come again, when it gets old: only then does it move to a replica that has been added. A handler's
`finally` has run before its RPC stops counting as in flight.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final, Never, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from rami_engine.errors import IllegalAction, MalformedAction, OptionsError
from rami_kit.access import Access
from rami_kit.auth import token_expired
from rami_kit.backoff import jitter
from rami_kit.error_texts import metadata_locale, set_current_locale
from rami_kit.errors import (
    INTERNAL_TEXT,
    STATUS_DETAILS_KEY,
    RamiError,
    from_engine_error,
    reason_name,
    reasons,
    refused,
    to_status,
)
from rami_kit.incoming import Incoming
from rami_kit.rates import Buckets, Rate
from rami_kit.tracing import fail_span, is_tracing, metadata_trace_parent, span
from rami_kit.unread import Writers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from rami_kit.admission import Admission, Visit
    from rami_kit.metrics import GrpcMetrics
    from rami_kit.unread import Writer

MAX_DEADLINE_SECONDS: Final = 60.0
DEADLINE_SLACK_SECONDS: Final = 0.1
"""A client gives up at its own deadline. Ours begins when the call arrives, so its end may be told before ours comes:
a call that is ended so little before counts as late.
"""

_ENGINE_ERRORS: Final = (IllegalAction, MalformedAction, OptionsError)
_OK: Final = "OK"
_CANCELLED: Final = "CANCELLED"
_DEADLINE_EXCEEDED: Final = "DEADLINE_EXCEEDED"

_log = logging.getLogger(__name__)

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class _Method:
    """One method: what it demands, how it parses, and the metrics it writes, all looked up beforehand."""

    def __init__(
        self,
        path: str,
        handler: _Handler,
        metrics: GrpcMetrics,
        *,
        access: Access,
        deadline_required: bool,
        own_rate: Buckets | None,
    ) -> None:
        self.path = path
        self.access = access
        self.deadline_required = deadline_required
        self.own_rate = own_rate
        self.parse: Callable[[bytes], Message] = handler.request_deserializer  # type: ignore[assignment]
        self.label = path.removeprefix("/")
        self.started = metrics.started.labels(self.label)
        self.in_flight = metrics.in_flight.labels(self.label)
        self.seconds = metrics.seconds.labels(self.label)
        self.handled = metrics.handled
        self.handled_ok = metrics.handled.labels(self.label, _OK)

    def ended(self, code: str, began: float) -> None:
        """Counts one RPC that is over."""
        if code is _OK:
            self.handled_ok.inc()
        else:
            self.handled.labels(self.label, code).inc()
        self.seconds.observe(time.perf_counter() - began)
        self.in_flight.dec()


class ServiceInterceptor(grpc.aio.ServerInterceptor):
    """The one interceptor of a server; services are made known to it before they are served."""

    def __init__(
        self,
        *,
        admission: Admission,
        metrics: GrpcMetrics,
        max_message_bytes: int = 65536,
        max_stream_seconds: float = 0,
        max_deadline_seconds: float = MAX_DEADLINE_SECONDS,
    ) -> None:
        self._admission = admission
        self._metrics = metrics
        self._max_message_bytes = max_message_bytes
        self._max_stream_seconds = max_stream_seconds
        self._max_deadline_seconds = max_deadline_seconds
        self._own_rates: dict[str, Buckets] = {}
        self._access: dict[str, tuple[Access, Mapping[str, Access], bool]] = {}
        self._wrapped: dict[str, _Handler] = {}
        self.writers = Writers()
        """The streams that are open."""
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def add_service(
        self,
        service: str,
        access: Access,
        overrides: Mapping[str, Access] | None = None,
        *,
        deadline_required: bool = True,
    ) -> None:
        """Declares who may call the methods of a service, by its full name; `overrides` go by method name."""
        self._access[service] = (access, overrides or {}, deadline_required)

    def limit_method(self, path: str, rate: Rate | None) -> None:
        """Lets each address call a public method, such as "/rami.x.v1.XService/Y", only so often; None: as others."""
        if rate is not None:
            self._own_rates[path] = Buckets(rate)

    @property
    def running(self) -> int:
        """RPCs whose handlers have not finished."""
        return self._running

    async def wait_idle(self) -> None:
        """Returns when no handler runs. A server's stop may return before that."""
        await self._idle.wait()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        path = handler_call_details.method
        wrapped = self._wrapped.get(path)
        if wrapped is None:
            handler = await continuation(handler_call_details)
            if handler is None or _service_of(path) not in self._access:
                # UNIMPLEMENTED, also where nobody has declared who may call. Not remembered: strangers choose
                # the names.
                return None
            wrapped = self._wrapped[path] = self._wrap(path, handler)
        return wrapped

    def _wrap(self, path: str, handler: _Handler) -> _Handler:
        service, name = _service_of(path), path.rpartition("/")[2]
        access, overrides, deadline_required = self._access[service]
        method = _Method(
            path,
            handler,
            self._metrics,
            access=overrides.get(name, access),
            deadline_required=deadline_required,
            own_rate=self._own_rates.get(path),
        )
        traced = _traced if is_tracing() and method.access is not Access.PROBE else _untraced
        if handler.request_streaming:
            streaming = self._stream(method, handler.stream_stream, request_streaming=True)
            return grpc.stream_stream_rpc_method_handler(traced(method, streaming))
        if handler.response_streaming:
            streaming = self._stream(method, handler.unary_stream, request_streaming=False)
            return grpc.unary_stream_rpc_method_handler(traced(method, streaming))
        return grpc.unary_unary_rpc_method_handler(traced(method, self._unary(method, handler.unary_unary)))

    # The wrappers.

    def _unary(self, method: _Method, behaviour: Any) -> Callable[[bytes, Any], Any]:
        parse_request = self._parse
        admit = self._admission.admit

        async def unary(raw: bytes, context: _Context) -> bytes:
            began = time.perf_counter()
            self._begin(method)
            code = _CANCELLED
            try:
                if method.access is not Access.PROBE:
                    admit(method.access, context, method.own_rate)
                too_long = self._deadline(method, context)
                answer = behaviour(parse_request(method, raw), context)
                response = await (self._cut_short(answer) if too_long else answer)
                encoded: bytes = response if type(response) is bytes else response.SerializeToString()
            except asyncio.CancelledError:
                code = _cancelled(context)
                raise
            except Exception as error:
                if _is_cancelled(method, error):
                    code = _cancelled(context)
                    raise asyncio.CancelledError from error
                refusal = _refusal(method, error)
                if refusal is None:
                    code = _aborted(context)
                    raise
                code = refusal.code.name
                await _abort(context, refusal)
            else:
                code = _OK
                return encoded
            finally:
                self._end()
                method.ended(code, began)

        return unary

    def _stream(self, method: _Method, behaviour: Any, *, request_streaming: bool) -> Callable[[Any, Any], Any]:
        async def stream(incoming: Any, context: _Context) -> None:
            began = time.perf_counter()
            self._begin(method)
            code = _CANCELLED
            visit: Visit | None = None
            writer = self.writers.enter()
            messages = Incoming(incoming) if request_streaming else None
            try:
                visit = self._admission.admit_stream(method.access, context)
                set_current_locale(metadata_locale(context.invocation_metadata()))
                expires_in = None if visit.caller is None else visit.caller.expires_at - time.time()
                request: Any
                if messages is not None:
                    request = self._requests(method, messages, visit)
                else:
                    request = self._parse(method, incoming)
                await self._run_stream(behaviour(request, context), context, expires_in, writer)
                code = _OK
            except asyncio.CancelledError:
                code = grpc.StatusCode.UNAVAILABLE.name if writer.given_up else _cancelled(context)
                raise
            except Exception as error:
                if _is_cancelled(method, error):
                    code = _cancelled(context)
                    raise asyncio.CancelledError from error
                refusal = _refusal(method, error)
                if refusal is None:
                    code = _aborted(context)
                    raise
                code = refusal.code.name
                if messages is not None:
                    await messages.await_first()
                writer.begin()
                if visit is not None:
                    visit.leave()  # who has been told that its stream is over may open the next one at once
                await _abort(context, refusal)
            finally:
                self.writers.leave(writer)
                if visit is not None:
                    visit.leave()
                self._end()
                method.ended(code, began)

        return stream

    async def _run_stream(
        self, responses: AsyncIterator[Any], context: _Context, expires_in: float | None, writer: Writer
    ) -> None:
        """Writes what a handler yields until it ends, its token does, or it is old; its `finally` has run."""
        oldest = self._max_stream_seconds * jitter(0.9, 1.1) or None
        expires_first = expires_in is not None and (oldest is None or expires_in <= oldest)
        limit = asyncio.timeout(expires_in if expires_first else oldest)
        try:
            async with limit:
                try:
                    async for response in responses:
                        encoded = response if type(response) is bytes else response.SerializeToString()
                        writer.begin()
                        await context.write(encoded)
                        writer.writing = False
                finally:
                    await responses.aclose()  # type: ignore[attr-defined]
        except TimeoutError:
            if not limit.expired():
                raise  # the handler's own
            raise (token_expired() if expires_first else _too_old()) from None

    async def _requests(self, method: _Method, incoming: Incoming, visit: Visit) -> AsyncIterator[Message]:
        async for raw in incoming.messages:
            incoming.begun = True
            if method.access is Access.PUBLIC:
                # Handlers of players' streams count messages themselves, to refuse one without ending the stream.
                visit.charge()
            yield self._parse(method, raw)

    async def _cut_short(self, answer: Awaitable[Any]) -> Any:
        """The answer of a handler whose caller would wait for longer than anybody should."""
        limit = asyncio.timeout(self._max_deadline_seconds)
        try:
            async with limit:
                return await answer
        except TimeoutError:
            if not limit.expired():
                raise  # the handler's own
            raise refused(
                reasons.ERROR_REASON_CALL_TOO_LONG,
                "the call was not done within the longest deadline",
                max_seconds=f"{self._max_deadline_seconds:g}",
            ) from None

    # Their parts.

    def _begin(self, method: _Method) -> None:
        method.started.inc()
        method.in_flight.inc()
        self._running += 1
        if self._running == 1:
            self._idle.clear()

    def _end(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._idle.set()

    def _deadline(self, method: _Method, context: _Context) -> bool:
        """Whether the deadline of a call is beyond what is granted. Raises DEADLINE_REQUIRED where one is missing."""
        left: float | None = context.time_remaining()
        if left is not None:
            # A deadline of just as much as is granted may look a little longer.
            return left > self._max_deadline_seconds + 1.0
        if method.deadline_required:
            raise refused(
                reasons.ERROR_REASON_DEADLINE_REQUIRED,
                "a unary call needs a deadline",
                max_seconds=f"{self._max_deadline_seconds:g}",
            )
        return False

    def _parse(self, method: _Method, raw: bytes) -> Message:
        if len(raw) > self._max_message_bytes:
            raise refused(
                reasons.ERROR_REASON_MESSAGE_TOO_LARGE,
                f"the request has more than {self._max_message_bytes} bytes",
                limit_bytes=self._max_message_bytes,
            )
        try:
            return method.parse(raw)
        except DecodeError:
            raise refused(
                reasons.ERROR_REASON_MALFORMED_MESSAGE, "the bytes are no message of the request's type"
            ) from None


def _traced(method: _Method, handle: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A handler whose every call is a span of the trace that the call tells of."""

    async def handle_traced(request: Any, context: _Context) -> Any:
        with span(method.label, metadata_trace_parent(context.invocation_metadata())):
            return await handle(request, context)

    return handle_traced


def _untraced(_method: _Method, handle: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return handle


def _is_cancelled(method: _Method, error: Exception) -> bool:
    """Whether an exception is only what a handler made of its cancellation: nobody is there to be told."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        return False
    if not isinstance(error, RamiError):
        _log.warning("%s failed after it was cancelled", method.label, exc_info=error)
    return True


def _refusal(method: _Method, error: Exception) -> RamiError | None:
    """What the caller is told about an exception; None when the handler has aborted the RPC itself."""
    if isinstance(error, grpc.aio.AbortError):
        return None
    if isinstance(error, RamiError):
        if error.code is grpc.StatusCode.INTERNAL:
            _log.error("a defect ended %s", method.label, exc_info=error)
        return error
    if isinstance(error, _ENGINE_ERRORS):
        return from_engine_error(error)
    _log.error("an uncaught error ended %s", method.label, exc_info=error)
    return RamiError(reasons.ERROR_REASON_INTERNAL, INTERNAL_TEXT)


async def _abort(context: _Context, refusal: RamiError) -> Never:
    fail_span(reason_name(refusal.reason))
    status = to_status(refusal, metadata_locale(context.invocation_metadata()))
    trailers = ((STATUS_DETAILS_KEY, status.SerializeToString()),)
    await context.abort(refusal.code, status.message, trailers)


def _cancelled(context: _Context) -> str:
    """The code under which a cancelled RPC counts: what its client saw."""
    remaining = context.time_remaining()
    return _DEADLINE_EXCEEDED if remaining is not None and remaining <= DEADLINE_SLACK_SECONDS else _CANCELLED


def _aborted(context: _Context) -> str:
    """The code that a handler of somebody else's, such as health's, has aborted with."""
    code = context.code()
    return code.name if isinstance(code, grpc.StatusCode) else grpc.StatusCode.UNKNOWN.name


def _service_of(path: str) -> str:
    return path.removeprefix("/").rpartition("/")[0]


def _too_old() -> RamiError:
    return refused(reasons.ERROR_REASON_SHUTTING_DOWN, "the stream is old: open it again", retry_after_seconds=0)


__all__ = ["DEADLINE_SLACK_SECONDS", "ServiceInterceptor"]
