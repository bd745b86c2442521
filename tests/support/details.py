"""The details of refusals: the reason and the pause that a google.rpc.Status carries."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from google.rpc import error_details_pb2, status_pb2

if TYPE_CHECKING:
    import grpc.aio


def status_of_text(text: str) -> status_pb2.Status:
    """From a header or trailer as it is written outside of gRPC: base64, perhaps without its padding."""
    return status_pb2.Status.FromString(base64.b64decode(text + "=" * (-len(text) % 4)))


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    """From the trailers of a call that failed; fails when there are no details."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            assert isinstance(value, bytes)
            return status_pb2.Status.FromString(value)
    raise AssertionError(f"no details: {error}")


def reason_and_pause(status: status_pb2.Status) -> tuple[str, float | None]:
    """The reason, and the seconds of RetryInfo where it has one."""
    reason, pause = "", None
    for detail in status.details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            assert info.domain == "rami"
            reason = info.reason
        elif detail.Unpack(retry):
            pause = retry.retry_delay.ToNanoseconds() / 1e9
    return reason, pause
