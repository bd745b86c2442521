"""Traces: one from a client's action through its commit, the bots' decisions and the delivery of the events.

Off unless RAMI_TRACING_ENDPOINT names a collector (OTLP over gRPC); then OpenTelemetry is needed, which the extra
`tracing` brings. Contexts travel as W3C traceparents: in the metadata of calls, and in messages where many pieces of
work share one stream. Where tracing is off, `span` costs a look at one variable, and nothing is sent or stored.

Spans carry the ids of rooms and players, as logs do, and never a card, a seed or a token.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc.aio

from rami_kit.errors import RamiError, reason_name
from rami_kit.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from opentelemetry.sdk.trace.export import SpanExporter

    from rami_kit.settings import ServiceSettings

ResultT = TypeVar("ResultT")

TRACE_PARENT: Final = "traceparent"
"""The metadata by which a call tells its trace."""

_FORM: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_NO_SPAN: Final = nullcontext()

_tracer: Any = None
"""The OpenTelemetry tracer of this process; None while tracing is off."""


def start_tracing(settings: ServiceSettings, service: str) -> Callable[[], None] | None:
    """Trace from here on, if the settings ask for it; returns what sends the last spans at the end.

    Raises SettingsError where OpenTelemetry is not installed.
    """
    if settings.tracing_endpoint is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415 - of an extra
            OTLPSpanExporter,
        )
    except ImportError:
        raise SettingsError(
            "RAMI_TRACING_ENDPOINT: OpenTelemetry is not installed; the extra rami[tracing] brings it"
        ) from None
    endpoint = settings.tracing_endpoint
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=not endpoint.startswith("https://"))
    return trace_to(exporter, service, settings.tracing_share)


def trace_to(exporter: SpanExporter, service: str, share: float = 1.0) -> Callable[[], None]:
    """Trace to an exporter; a share of the traces that begin here, and all that others have sampled."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - of an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - of an extra
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - of an extra
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio  # noqa: PLC0415 - of an extra

    global _tracer  # noqa: PLW0603 - one process has one tracer
    provider = TracerProvider(
        sampler=ParentBasedTraceIdRatio(share), resource=Resource.create({"service.name": f"rami-{service}"})
    )
    # Spans are sent from a thread of the processor's own.
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _tracer = provider.get_tracer("rami")

    def stop() -> None:
        global _tracer  # noqa: PLW0603 - as above
        _tracer = None
        provider.shutdown()

    return stop


def is_tracing() -> bool:
    """Whether spans are made in this process."""
    return _tracer is not None


def span(name: str, /, parent: str | None = None, **attributes: str | int) -> AbstractContextManager[object]:
    """Something that takes time, as a context manager. Nests below the current span, or below the traceparent
    `parent`, of which "" means that a trace begins here. An exception marks it as failed and passes on.
    """
    return _NO_SPAN if _tracer is None else _span(name, parent, attributes)


async def _in_span(
    work: Awaitable[ResultT], name: str, parent: str | None, attributes: dict[str, str | int]
) -> ResultT:
    with _span(name, parent, attributes):
        return await work


def in_span(
    work: Awaitable[ResultT], name: str, /, parent: str | None = None, **attributes: str | int
) -> Awaitable[ResultT]:
    """Work that is a span while it is awaited, as with `span`; the work itself where tracing is off."""
    return work if _tracer is None else _in_span(work, name, parent, attributes)


def past_span(name: str, parent: str, seconds: float, /, **attributes: str | int) -> None:
    """Something that ends now and began so many seconds ago, below the traceparent `parent`."""
    if _tracer is None:
        return
    end = time.time_ns()
    begun = _tracer.start_span(
        name,
        context=_context(parent),
        start_time=end - round(seconds * 1e9),
        attributes={f"rami.{key}": value for key, value in attributes.items()},
    )
    begun.end(end)


def fail_span(reason: str) -> None:
    """Mark the current span as failed."""
    if _tracer is None:
        return
    from opentelemetry.trace import Status, StatusCode, get_current_span  # noqa: PLC0415 - of an extra

    get_current_span().set_status(Status(StatusCode.ERROR, reason))


def trace_parent() -> str:
    """The current span as a W3C traceparent; empty for none."""
    if _tracer is None:
        return ""
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - of an extra

    context = get_current_span().get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def trace_id() -> str:
    """The id of the current trace, 32 hex digits; empty for none."""
    return trace_parent()[3:35]


def traced(metadata: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Metadata of a call that goes on with the current trace."""
    parent = trace_parent()
    return (*metadata, (TRACE_PARENT, parent)) if parent else metadata


def metadata_trace_parent(metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
    """The traceparent of a call; empty for none."""
    for key, value in metadata or ():
        if key == TRACE_PARENT and isinstance(value, str):
            return value
    return ""


@contextmanager
def _span(name: str, parent: str | None, attributes: dict[str, str | int]) -> Iterator[object]:
    from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - of an extra

    with _tracer.start_as_current_span(
        name,
        context=None if parent is None else _context(parent),
        attributes={f"rami.{key}": value for key, value in attributes.items()},
        # Exceptions hold texts that are for the log alone.
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except grpc.aio.AbortError:
            raise  # whoever ended the call has said why
        except Exception as error:
            reason = reason_name(error.reason) if isinstance(error, RamiError) else type(error).__name__
            current.set_status(Status(StatusCode.ERROR, reason))
            raise


def _context(parent: str) -> Any:
    """The OpenTelemetry context of a traceparent; an empty one for what is none."""
    from opentelemetry.context import Context  # noqa: PLC0415 - of an extra
    from opentelemetry.trace import (  # noqa: PLC0415 - of an extra
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    if _FORM.fullmatch(parent) is None:
        return Context()
    trace, above, flags = (int(part, 16) for part in parent.split("-")[1:])
    remote = SpanContext(trace, above, is_remote=True, trace_flags=TraceFlags(flags))
    return set_span_in_context(NonRecordingSpan(remote), Context())


__all__ = [
    "TRACE_PARENT",
    "fail_span",
    "in_span",
    "is_tracing",
    "metadata_trace_parent",
    "past_span",
    "span",
    "start_tracing",
    "trace_id",
    "trace_parent",
    "trace_to",
    "traced",
]
