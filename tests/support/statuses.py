"""The statuses that services end calls with, made for tests."""

from __future__ import annotations

from typing import NoReturn

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

Context = grpc.aio.ServicerContext[object, object]

CODES = {
    "STALE_VERSION": grpc.StatusCode.ABORTED,
    "STREAM_SUPERSEDED": grpc.StatusCode.ABORTED,
    "ROOM_NOT_FOUND": grpc.StatusCode.NOT_FOUND,
    "NOT_SEATED": grpc.StatusCode.PERMISSION_DENIED,
    "TOKEN_MISSING": grpc.StatusCode.UNAUTHENTICATED,
    "TOKEN_EXPIRED": grpc.StatusCode.UNAUTHENTICATED,
    "INVALID_REQUEST": grpc.StatusCode.INVALID_ARGUMENT,
    "OVERLOADED": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "RATE_LIMITED": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "STORE_UNAVAILABLE": grpc.StatusCode.UNAVAILABLE,
    "SHUTTING_DOWN": grpc.StatusCode.UNAVAILABLE,
    "DECISION_TIMEOUT": grpc.StatusCode.DEADLINE_EXCEEDED,
    "INTERNAL": grpc.StatusCode.INTERNAL,
}


def status_of(
    reason: str,
    *,
    metadata: dict[str, str] | None = None,
    retry_after_seconds: float | None = None,
    violations: tuple[tuple[str, str], ...] = (),
) -> status_pb2.Status:
    """The status a service would send for a reason; reasons that are not listed are FAILED_PRECONDITION."""
    code = CODES.get(reason, grpc.StatusCode.FAILED_PRECONDITION)
    status = status_pb2.Status(code=code.value[0], message=f"refused: {reason}")
    info = error_details_pb2.ErrorInfo(reason=reason, domain="rami", metadata=metadata or {})
    details: list[error_details_pb2.ErrorInfo | error_details_pb2.RetryInfo | error_details_pb2.BadRequest] = [info]
    if retry_after_seconds is not None:
        delay = Duration()
        delay.FromMilliseconds(round(retry_after_seconds * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if violations:
        request = error_details_pb2.BadRequest()
        for name, description in violations:
            request.field_violations.add(field=name, description=description)
        details.append(request)
    for detail in details:
        packed = Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


async def abort(context: Context, status: status_pb2.Status) -> NoReturn:
    """Ends a call with a status and its details."""
    code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
    trailers = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(code, status.message, trailers)
