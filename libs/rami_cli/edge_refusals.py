"""What the edge itself answers: refusals with the same details that the services send.

Envoy knows HTTP codes, which gRPC clients read as UNAVAILABLE whatever they mean, and it has no error details. Its
local replies are therefore rewritten: a full edge or an address that calls too often is RESOURCE_EXHAUSTED, a service
that is away is UNAVAILABLE, and each carries ErrorInfo and RetryInfo in grpc-status-details-bin.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from rami_kit.errors import STATUS_DETAILS_KEY, RamiError, reasons, refused, to_status

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE_LIMITED_STATUS: Final = 429
OVERLOADED_STATUS: Final = 507
"""Under which HTTP status each limit refuses inside of Envoy, so that they can be told apart here; callers that do not
speak gRPC see 429 for both.
"""

_GRPC: Final = {"header_filter": {"header": {"name": "content-type", "string_match": {"prefix": "application/grpc"}}}}
_OVERFLOW: Final = ("UO", "OM")
_AWAY: Final = ("UH", "UF", "UC", "LR", "UR", "LH", "UPE")
"""No healthy host, no connection, connection lost, resets, retries used up: Envoy's own short names."""


def local_replies() -> dict[str, Any]:
    """The `local_reply_config` of the HTTP connection manager; the first mapper that matches rewrites a reply."""
    rate_limited = refused(
        reasons.ERROR_REASON_RATE_LIMITED, "this address calls too often", retry_after_seconds=1.0, scope="address"
    )
    overloaded = refused(reasons.ERROR_REASON_OVERLOADED, "too many calls at once", retry_after_seconds=0.5)
    away = refused(reasons.ERROR_REASON_PEER_UNAVAILABLE, "no replica answers", retry_after_seconds=0.5)
    return {
        "mappers": [
            _mapper(_status(RATE_LIMITED_STATUS), rate_limited),
            _mapper(_status(OVERLOADED_STATUS), overloaded),
            _mapper(_flags(_OVERFLOW), overloaded),
            _mapper(_flags(_AWAY), away),
            {"filter": _status(OVERLOADED_STATUS), "status_code": RATE_LIMITED_STATUS},
        ]
    }


def _mapper(condition: dict[str, Any], error: RamiError) -> dict[str, Any]:
    """The reply to a gRPC call, or a gRPC-Web call, that is refused under a condition.

    A response without a body, whose headers are the trailers: with a body, Envoy's gRPC-Web filter would write a
    status of its own over ours.
    """
    status = to_status(error)
    details = base64.b64encode(status.SerializeToString()).rstrip(b"=").decode()
    headers = {"grpc-status": str(status.code), "grpc-message": status.message, STATUS_DETAILS_KEY: details}
    return {
        "filter": {"and_filter": {"filters": [condition, _GRPC]}},
        "status_code": 200,
        "body": {"inline_string": ""},
        "headers_to_add": [
            {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
            for key, value in headers.items()
        ],
    }


def _flags(flags: Sequence[str]) -> dict[str, Any]:
    return {"response_flag_filter": {"flags": list(flags)}}


def _status(code: int) -> dict[str, Any]:
    comparison = {"op": "EQ", "value": {"default_value": code, "runtime_key": "edge.refusal_status"}}
    return {"status_code_filter": {"comparison": comparison}}
