"""What can go wrong for a client, as one tree of exceptions.

    RamiClientError                 root of all of them
    ├── RpcError                    a server refused a call or is not there; one class a status family
    │   ├── InvalidArgumentError    the request itself is wrong: see `field_violations`
    │   ├── UnauthenticatedError    no token, a wrong one, or one that has expired: sign in again
    │   ├── PermissionDeniedError   somebody else may do this, the caller may not
    │   ├── NotFoundError           no such room, ticket, player or bot
    │   ├── FailedPreconditionError not now
    │   │   └── ActionRefusedError  the rules refuse the action: see `rules_reason`
    │   ├── AbortedError            something newer came first
    │   │   ├── StaleVersionError   the action was chosen on a version that is not the room's
    │   │   └── SupersededError     a newer Play stream of the same seat has taken over
    │   ├── ResourceExhaustedError  too often or too much: come back after `retry_after_seconds`
    │   │   └── OverloadedError     the cluster has no room for the call now: the same call is safe, a little later
    │   ├── UnavailableError        nobody answers for now: the same call with the same request id is safe
    │   ├── DeadlineExceededError   no answer in time: it may or may not have been done
    │   └── ServerError             INTERNAL, UNKNOWN and every other code
    ├── TableEndedError             the table was closed while something was still wanted of it
    ├── TicketEndedError            the ticket left the queue without a match
    ├── RewoundError                the store lost a part of the room's past: look at the table, choose again
    ├── BadChoiceError              a bot chose an action that is not legal
    └── BadFileError                a file that is no replay or no receipt

Every error of a server carries one google.rpc.ErrorInfo in the trailer grpc-status-details-bin; where a
proxy or the channel itself made the error there is none, and `reason` is empty.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from rami_engine import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf import json_format

ERROR_DOMAIN: Final = "rami"
DETAILS_TRAILER: Final = "grpc-status-details-bin"


class FieldViolation(NamedTuple):
    """What is wrong with one field of a request."""

    field: str
    description: str


class RamiClientError(Exception):
    """Root of everything this library raises on purpose."""


class RpcError(RamiClientError):
    """A call that did not succeed."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        field_violations: tuple[FieldViolation, ...] = (),
        retry_after_seconds: float | None = None,
        localized_message: str = "",
    ) -> None:
        text = " ".join(part for part in (code.name, reason) if part)
        super().__init__(f"{text}: {message}" if message else text)
        self.code = code
        """The status code."""
        self.reason = reason
        """A name of rami.errors.v1.ErrorReason without its prefix; empty if no Rami service made the error.
        """
        self.message = message
        """The server's text, for a developer to read."""
        self.metadata: Mapping[str, str] = dict(metadata or {})
        """What varies with the error, for example `current_version`."""
        self.field_violations = field_violations
        """What is wrong with which field; empty but for InvalidArgumentError."""
        self.retry_after_seconds = retry_after_seconds
        """How long the server asks the client to wait, if it does."""
        self.localized_message = localized_message
        """A text for the player to read, in the language that the client asked for; empty if it asked for none."""


class InvalidArgumentError(RpcError):
    """The request is malformed, whatever the state."""


class UnauthenticatedError(RpcError):
    """The call carries no token that counts."""


class PermissionDeniedError(RpcError):
    """The caller may not do this."""


class NotFoundError(RpcError):
    """What the call names does not exist."""


class FailedPreconditionError(RpcError):
    """The call makes sense, but not now."""


class ActionRefusedError(FailedPreconditionError):
    """The rules refuse an action; nothing has changed."""

    @property
    def rules_reason(self) -> Reason:
        """Why.

        >>> try:
        ...     await table.act(discard_action(0))
        ... except ActionRefusedError as error:
        ...     error.rules_reason.name
        'WRONG_PHASE'
        """
        return Reason(self.reason)


class AbortedError(RpcError):
    """Something newer came first."""


class StaleVersionError(AbortedError):
    """The action was chosen on a version that is not the current one."""

    @property
    def current_version(self) -> int:
        """The version of the room now.

        >>> try:
        ...     await table.act(DRAW_STOCK, expected_version=1)
        ... except StaleVersionError as error:
        ...     error.current_version == table.version
        True
        """
        return int(self.metadata.get("current_version", "0"))


class SupersededError(AbortedError):
    """A newer Play stream of the same seat has taken over: this one does not come back."""


class ResourceExhaustedError(RpcError):
    """A limit of the server is reached."""


class OverloadedError(ResourceExhaustedError):
    """More calls wait than are answered in good time, and this one was dropped before anybody took it up.

    An edge says so with RESOURCE_EXHAUSTED and the reason OVERLOADED. A service without an edge can only end the call
    as CANCELLED, which no service does for any other reason; `code` tells the two apart.
    """


class UnavailableError(RpcError):
    """The service, or something that it needs, is away."""


class DeadlineExceededError(RpcError):
    """No answer came before the deadline of the call."""


class ServerError(RpcError):
    """The server failed in a way that is nobody's plan."""


class TableEndedError(RamiClientError):
    """The table was closed, or its room is gone."""


class TicketEndedError(RamiClientError):
    """The ticket was cancelled or has expired; `state` is its rami.matchmaking.v1.TicketState."""

    def __init__(self, ticket_id: str, state: int, state_name: str) -> None:
        super().__init__(f"ticket {ticket_id} ended as {state_name}")
        self.ticket_id = ticket_id
        self.state = state


class RewoundError(RamiClientError):
    """The room was set back while an action was on its way: it was not sent again."""


class BadChoiceError(RamiClientError):
    """A bot's choice that is not among the legal actions it was shown."""


class BadFileError(RamiClientError):
    """A file that cannot be read as what it should be; `line` counts from 1 where lines matter, else 0."""

    def __init__(self, path: object, description: str, line: int = 0) -> None:
        place = f"{path}, line {line}" if line else f"{path}"
        super().__init__(f"{place}: {description}")
        self.path = str(path)
        self.description = description
        self.line = line


def json_complaint(error: json_format.ParseError) -> str:
    """What is wrong with a JSON text that should be a message of the contract, in words for a person."""
    text = str(error)
    unknown = re.search(r'no field named "([^"]*)"', text)
    if unknown is not None:
        return f"it has the field {unknown[1]!r}, which is not known"
    if text.startswith(_NO_JSON):
        return f"it is no JSON ({text.removeprefix(_NO_JSON).strip().rstrip('.')})"
    fields = re.findall(r"[Ff]ailed to parse (\w+) field", text)
    return f"the field {fields[-1]!r} has no such value" if fields else "its values are not those of the contract"


_LOCAL_FAILURE: Final = "Internal error from Core"
"""What gRPC itself makes of a write on a connection that has just broken; no server has said it."""
_NO_JSON: Final = "Failed to load JSON:"
_FAMILIES: Final[dict[grpc.StatusCode, type[RpcError]]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDeniedError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPreconditionError,
    grpc.StatusCode.ABORTED: AbortedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhaustedError,
    # Calls that the caller gives up itself never come here: they end as asyncio.CancelledError.
    grpc.StatusCode.CANCELLED: OverloadedError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
}
_ABORTED: Final[dict[str, type[RpcError]]] = {
    "STALE_VERSION": StaleVersionError,
    "STREAM_SUPERSEDED": SupersededError,
}
_OVERLOADED: Final = "OVERLOADED"
_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}
_RULES_REASONS: Final = frozenset(reason.value for reason in Reason)


def error_from_status(status: status_pb2.Status) -> RpcError:
    """The exception of a google.rpc.Status, such as the outcome of an action on a Play stream."""
    reason = ""
    metadata: dict[str, str] = {}
    violations: tuple[FieldViolation, ...] = ()
    retry_after: float | None = None
    localized = error_details_pb2.LocalizedMessage()
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        request = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == ERROR_DOMAIN:
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(request):
            violations = tuple(FieldViolation(v.field, v.description) for v in request.field_violations)
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToNanoseconds() / 1e9
        else:
            detail.Unpack(localized)
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    return _class_of(code, reason)(
        code,
        status.message,
        reason=reason,
        metadata=metadata,
        field_violations=violations,
        retry_after_seconds=retry_after,
        localized_message=localized.message,
    )


def error_from_call(error: grpc.aio.AioRpcError) -> RpcError:
    """The exception of a failed call, with whatever details its trailers carry."""
    code = error.code()
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_TRAILER and isinstance(value, bytes):
            try:
                status = status_pb2.Status.FromString(value)
            except DecodeError:
                break  # somebody else's trailer: the bare code still says what there is to say
            if status.code == code.value[0]:
                return error_from_status(status)
    if code is grpc.StatusCode.INTERNAL and error.details() == _LOCAL_FAILURE:
        return UnavailableError(grpc.StatusCode.UNAVAILABLE, "the connection broke while something was written")
    return _class_of(code, "")(code, error.details() or "")


def _class_of(code: grpc.StatusCode, reason: str) -> type[RpcError]:
    if code is grpc.StatusCode.FAILED_PRECONDITION and reason in _RULES_REASONS:
        return ActionRefusedError
    if code is grpc.StatusCode.ABORTED:
        return _ABORTED.get(reason, AbortedError)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and reason == _OVERLOADED:
        return OverloadedError
    return _FAMILIES.get(code, ServerError)
