"""The errors that callers may see, and how each becomes a status.

    Exception
    └── RamiError                 a reason, a text for people, and values that vary
        ├── InvalidRequest        a field of the request is missing, out of range or malformed
        ├── StoreUnavailable      the store is away: nothing of the call has been applied
        │   └── StoreUncertain    the store got the call but its answer is lost: it may have been applied
        └── StoreError            the store refused what we sent: a defect of ours

Code raises; the interceptor turns what it catches into a status, in one place and once. The reason alone
decides the status code (REASON_TO_CODE). Every status carries one ErrorInfo; INVALID_ARGUMENT also carries
BadRequest, UNAVAILABLE and RESOURCE_EXHAUSTED also carry RetryInfo, unless repeating the call cannot help; and a
caller that says what it reads (`accept-language`) gets a LocalizedMessage.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import grpc
import grpc.aio
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from rami.errors.v1 import error_reason_pb2 as reasons
from rami_engine.errors import IllegalAction, MalformedAction, OptionsError
from rami_kit.error_texts import error_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Reason: TypeAlias = "reasons.ErrorReason.ValueType"

DOMAIN: Final = "rami"
STATUS_DETAILS_KEY: Final = "grpc-status-details-bin"
INTERNAL_TEXT: Final = "internal error"
DEFAULT_RETRY_SECONDS: Final = 1.0
# Status text and details travel as trailers. gRPC drops some of those over 8 kB, at random, and all over 16 kB, and
# then the whole status is gone. The text is percent-encoded on its way and the details are base64: within these
# bounds, in bytes, both together stay under 8 kB.
MAX_TEXT: Final = 512
MAX_VIOLATIONS: Final = 8
MAX_FIELD: Final = 96
MAX_DESCRIPTION: Final = 160
MAX_METADATA: Final = 8
MAX_METADATA_VALUE: Final = 120

_PREFIX: Final = "ERROR_REASON_"
_Code = grpc.StatusCode

REASON_TO_CODE: Final[Mapping[Reason, grpc.StatusCode]] = {
    reasons.ERROR_REASON_MATCH_NOT_STARTED: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_MATCH_OVER: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_YOUR_TURN: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_WRONG_PHASE: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_CARD_NOT_IN_HAND: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_MELD_NOT_FOUND: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_INVALID_MELD: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_INVALID_LAY_OFF: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_MUST_KEEP_DISCARD: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_INVALID_REQUEST: _Code.INVALID_ARGUMENT,
    reasons.ERROR_REASON_MALFORMED_MESSAGE: _Code.INVALID_ARGUMENT,
    reasons.ERROR_REASON_DEADLINE_REQUIRED: _Code.INVALID_ARGUMENT,
    reasons.ERROR_REASON_MESSAGE_TOO_LARGE: _Code.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_REQUEST_ID_REUSED: _Code.INVALID_ARGUMENT,
    reasons.ERROR_REASON_STALE_VERSION: _Code.ABORTED,
    reasons.ERROR_REASON_CALL_TOO_LONG: _Code.DEADLINE_EXCEEDED,
    reasons.ERROR_REASON_TOKEN_MISSING: _Code.UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_INVALID: _Code.UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_EXPIRED: _Code.UNAUTHENTICATED,
    reasons.ERROR_REASON_SCOPE_MISSING: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_ROOM_NOT_FOUND: _Code.NOT_FOUND,
    reasons.ERROR_REASON_JOIN_CODE_NOT_FOUND: _Code.NOT_FOUND,
    reasons.ERROR_REASON_JOIN_CODE_REQUIRED: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_ROOM_FULL: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_SEAT_TAKEN: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_SEATED: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_NOT_HOST: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_SEATS_NOT_FILLED: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_MATCH_ALREADY_STARTED: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_MATCH_NOT_OVER: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_SPECTATORS_NOT_ALLOWED: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_ENTROPY_ALREADY_SET: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_STREAM_SUPERSEDED: _Code.ABORTED,
    reasons.ERROR_REASON_BOT_NOT_FOUND: _Code.NOT_FOUND,
    reasons.ERROR_REASON_RULES_VERSION_MISMATCH: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_DECISION_QUEUE_FULL: _Code.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_DECISION_TIMEOUT: _Code.DEADLINE_EXCEEDED,
    reasons.ERROR_REASON_TICKET_NOT_FOUND: _Code.NOT_FOUND,
    reasons.ERROR_REASON_TICKET_MATCHED: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_ALREADY_QUEUED: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_GUESTS_DISABLED: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_PLAYER_NOT_FOUND: _Code.NOT_FOUND,
    reasons.ERROR_REASON_TICKET_OVER: _Code.FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_A_GUEST: _Code.PERMISSION_DENIED,
    reasons.ERROR_REASON_RATE_LIMITED: _Code.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_LIMIT_REACHED: _Code.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_STORE_UNAVAILABLE: _Code.UNAVAILABLE,
    reasons.ERROR_REASON_PEER_UNAVAILABLE: _Code.UNAVAILABLE,
    reasons.ERROR_REASON_SHUTTING_DOWN: _Code.UNAVAILABLE,
    reasons.ERROR_REASON_OVERLOADED: _Code.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_INTERNAL: _Code.INTERNAL,
}
"""The status code of every reason. UNSPECIFIED has none: it is never sent."""

_RETRIED_CODES: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED})
_NEVER_RETRIED: Final = frozenset({reasons.ERROR_REASON_MESSAGE_TOO_LARGE})

_CODE_NUMBER: Final[Mapping[grpc.StatusCode, int]] = {code: code.value[0] for code in grpc.StatusCode}


class FieldViolation(NamedTuple):
    """One wrong field of a request: its path, as in the .proto file, and what is allowed."""

    field: str
    description: str


class RamiError(Exception):
    """An error that the caller is told about.

    `message` is for people and holds nothing secret; programs look at `reason` and `metadata`.
    `retry_after_seconds` is meant for codes that ask for a retry, which get a default without it.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        metadata: Mapping[str, str] | None = None,
        field_violations: Iterable[FieldViolation] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message
        self.metadata: dict[str, str] = dict(metadata) if metadata else {}
        self.field_violations = tuple(field_violations)
        self.retry_after_seconds = retry_after_seconds

    @property
    def code(self) -> grpc.StatusCode:
        """The status code that the reason comes with."""
        return REASON_TO_CODE[self.reason]


class InvalidRequest(RamiError):  # noqa: N818 - named for what is wrong, like the reason it carries
    """A field of the request is missing, out of range or malformed (INVALID_ARGUMENT)."""

    def __init__(self, field: str, description: str) -> None:
        super().__init__(
            reasons.ERROR_REASON_INVALID_REQUEST,
            f"{field}: {description}",
            metadata={"field": field},
            field_violations=(FieldViolation(field, description),),
        )


class StoreUnavailable(RamiError):  # noqa: N818 - named for the state, like the reason it carries
    """The store is away and nothing of the call has been applied (UNAVAILABLE)."""

    def __init__(self, message: str = "the store is away", *, retry_after_seconds: float = 0.5) -> None:
        super().__init__(reasons.ERROR_REASON_STORE_UNAVAILABLE, message, retry_after_seconds=retry_after_seconds)


class StoreUncertain(StoreUnavailable):
    """The store got the call and its answer is lost: it may or may not have been applied (UNAVAILABLE).

    Whoever remembers what the store held before must forget it; the caller repeats with the same request_id.
    """

    def __init__(self, message: str = "the answer of the store is lost") -> None:
        super().__init__(message)


class StoreError(RamiError):
    """The store answered a command or script with an error: a defect of ours (INTERNAL).

    The message is for the log; callers see the fixed text of INTERNAL.
    """

    def __init__(self, message: str) -> None:
        super().__init__(reasons.ERROR_REASON_INTERNAL, message)


class PeerError(NamedTuple):
    """What another service answered: its code, and its reason and metadata where it is one of ours."""

    code: grpc.StatusCode
    reason: Reason | None
    metadata: dict[str, str]
    message: str


def refused(reason: Reason, message: str, *, retry_after_seconds: float | None = None, **metadata: object) -> RamiError:
    """An error to raise; the keywords are its metadata, such as `seats=4`, and become texts."""
    return RamiError(
        reason,
        message,
        metadata={key: str(value) for key, value in metadata.items()},
        retry_after_seconds=retry_after_seconds,
    )


def shutting_down() -> RamiError:
    """What a stream ends with when its process drains: call again, another replica answers."""
    return refused(reasons.ERROR_REASON_SHUTTING_DOWN, "the process is draining: call again", retry_after_seconds=0.1)


def reason_name(reason: Reason) -> str:
    """The name an ErrorInfo carries, such as "NOT_YOUR_TURN"."""
    return reasons.ErrorReason.Name(reason).removeprefix(_PREFIX)


def parse_reason(name: str) -> Reason | None:
    """The reason of an ErrorInfo's name; None for one that this build does not know."""
    try:
        return reasons.ErrorReason.Value(_PREFIX + name)
    except ValueError:
        return None


def from_engine_error(error: IllegalAction | MalformedAction | OptionsError) -> RamiError:
    """The engine's refusal as one of ours; the reasons of both have the same names."""
    if isinstance(error, IllegalAction):
        reason = parse_reason(error.reason.name)
        if reason is None:
            return RamiError(reasons.ERROR_REASON_INTERNAL, f"no error reason is named {error.reason.name}")
        return RamiError(reason, f"the rules refuse the action: {error.reason.name}")
    return InvalidRequest(error.field, error.description)


def to_status(error: RamiError, locale: str | None = None) -> status_pb2.Status:
    """The status of an error: code, text, one ErrorInfo, and BadRequest or RetryInfo where the code asks.

    With a locale also LocalizedMessage, for people to read.
    """
    code = error.code
    if code is grpc.StatusCode.INTERNAL:
        # Nothing of a defect leaves the process but the fact.
        message, metadata = INTERNAL_TEXT, {}
    else:
        message, metadata = _cut(error.message, MAX_TEXT), error.metadata
    status = status_pb2.Status(code=_CODE_NUMBER[code], message=message)
    info = error_details_pb2.ErrorInfo(reason=reason_name(error.reason), domain=DOMAIN)
    for key, value in islice(metadata.items(), MAX_METADATA):
        info.metadata[key] = _cut(value, MAX_METADATA_VALUE)
    _attach(status, info)
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        violations = error.field_violations or (FieldViolation(metadata.get("field", ""), message),)
        bad_request = error_details_pb2.BadRequest()
        for field, description in violations[:MAX_VIOLATIONS]:
            bad_request.field_violations.add(
                field=_cut(field, MAX_FIELD), description=_cut(description, MAX_DESCRIPTION)
            )
        _attach(status, bad_request)
    if code in _RETRIED_CODES and error.reason not in _NEVER_RETRIED:
        seconds = DEFAULT_RETRY_SECONDS if error.retry_after_seconds is None else error.retry_after_seconds
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromNanoseconds(max(0, round(seconds * 1e9)))
        _attach(status, retry)
    text = error_text(info.reason, locale) if locale is not None else None
    if text is not None:
        _attach(status, error_details_pb2.LocalizedMessage(locale=locale, message=text))
    return status


def from_rpc_error(error: grpc.aio.AioRpcError) -> PeerError:
    """What a stub's error says. Details that are missing or unreadable leave only the code and the text."""
    code, message = error.code(), error.details() or ""
    info = error_info(status_of(error))
    if info is None:
        return PeerError(code, None, {}, message)
    return PeerError(code, parse_reason(info.reason), dict(info.metadata), message)


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    """The status with details that an RPC ended with; an empty one when it has none that can be read."""
    for key, value in error.trailing_metadata() or ():
        if key == STATUS_DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()


def retry_seconds(status: status_pb2.Status) -> float:
    """When a status asks to be tried again; 0 when it says nothing of it."""
    retry = error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            try:
                detail.Unpack(retry)
            except DecodeError:
                return 0.0
    seconds: float = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    return max(0.0, seconds)


def error_info(status: status_pb2.Status) -> error_details_pb2.ErrorInfo | None:
    """The ErrorInfo of our domain in a status, if it has one."""
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            try:
                detail.Unpack(info)
            except DecodeError:
                return None
            if info.domain == DOMAIN:
                return info
    return None


def _cut(text: str, size: int) -> str:
    """The beginning of a text, as far as it fits into so many bytes."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _attach(status: status_pb2.Status, detail: Message) -> None:
    packed = AnyMessage()
    packed.Pack(detail)
    status.details.append(packed)


__all__ = [
    "REASON_TO_CODE",
    "STATUS_DETAILS_KEY",
    "FieldViolation",
    "InvalidRequest",
    "PeerError",
    "RamiError",
    "Reason",
    "StoreError",
    "StoreUnavailable",
    "StoreUncertain",
    "error_info",
    "from_engine_error",
    "from_rpc_error",
    "parse_reason",
    "reason_name",
    "reasons",
    "refused",
    "retry_seconds",
    "shutting_down",
    "status_of",
    "to_status",
]
