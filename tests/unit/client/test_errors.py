"""Statuses become typed exceptions, with everything their details say."""

import grpc
import pytest
from google.rpc import status_pb2

from rami.errors.v1 import error_reason_pb2
from rami_client import errors
from rami_engine import Reason
from support.statuses import status_of

FAMILIES = {
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgumentError,
    grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDeniedError,
    grpc.StatusCode.NOT_FOUND: errors.NotFoundError,
    grpc.StatusCode.FAILED_PRECONDITION: errors.FailedPreconditionError,
    grpc.StatusCode.ABORTED: errors.AbortedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhaustedError,
    grpc.StatusCode.CANCELLED: errors.OverloadedError,
    grpc.StatusCode.UNAVAILABLE: errors.UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceededError,
    grpc.StatusCode.INTERNAL: errors.ServerError,
    grpc.StatusCode.UNKNOWN: errors.ServerError,
    grpc.StatusCode.UNIMPLEMENTED: errors.ServerError,
}


def call_error(code: grpc.StatusCode, trailers: tuple[tuple[str, bytes], ...] = ()) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailers), details="text")


@pytest.mark.parametrize(("code", "family"), FAMILIES.items())
def test_a_bare_code_gives_its_family(code: grpc.StatusCode, family: type[errors.RpcError]) -> None:
    error = errors.error_from_call(call_error(code))
    assert type(error) is family
    assert (error.code, error.reason, error.message) == (code, "", "text")
    assert str(error) == f"{code.name}: text"


def test_the_details_are_taken_from_the_trailer() -> None:
    status = status_of(
        "INVALID_REQUEST",
        metadata={"field": "action.meld.cards"},
        violations=(("action.meld.cards", "names the same card twice"),),
    )
    trailers = ((errors.DETAILS_TRAILER, status.SerializeToString()),)
    error = errors.error_from_call(call_error(grpc.StatusCode.INVALID_ARGUMENT, trailers))
    assert isinstance(error, errors.InvalidArgumentError)
    assert error.reason == "INVALID_REQUEST"
    assert error.metadata == {"field": "action.meld.cards"}
    assert error.field_violations == (("action.meld.cards", "names the same card twice"),)
    assert error.retry_after_seconds is None


def test_an_edge_that_is_full_is_told_from_other_limits() -> None:
    error = errors.error_from_status(status_of("OVERLOADED", retry_after_seconds=0.5))
    assert type(error) is errors.OverloadedError
    assert error.retry_after_seconds == 0.5
    assert type(errors.error_from_status(status_of("RATE_LIMITED"))) is errors.ResourceExhaustedError


def test_a_write_on_a_broken_connection_is_unavailable_and_no_defect() -> None:
    nothing = grpc.aio.Metadata()
    made_here = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, nothing, nothing, "Internal error from Core")
    error = errors.error_from_call(made_here)
    assert isinstance(error, errors.UnavailableError)
    assert error.code is grpc.StatusCode.UNAVAILABLE
    said = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, nothing, nothing, "internal error")
    assert isinstance(errors.error_from_call(said), errors.ServerError)


def test_retry_info_is_in_seconds() -> None:
    error = errors.error_from_status(status_of("STORE_UNAVAILABLE", retry_after_seconds=1.5))
    assert isinstance(error, errors.UnavailableError)
    assert error.retry_after_seconds == 1.5


@pytest.mark.parametrize("reason", list(Reason))
def test_every_refusal_of_the_rules_says_why(reason: Reason) -> None:
    error = errors.error_from_status(status_of(reason.value))
    assert isinstance(error, errors.ActionRefusedError)
    assert error.rules_reason is reason


def test_other_preconditions_are_no_refusals_of_the_rules() -> None:
    error = errors.error_from_status(status_of("ROOM_FULL", metadata={"seats": "4"}))
    assert type(error) is errors.FailedPreconditionError


def test_a_stale_version_knows_the_current_one() -> None:
    error = errors.error_from_status(status_of("STALE_VERSION", metadata={"current_version": "42"}))
    assert isinstance(error, errors.StaleVersionError)
    assert error.current_version == 42


def test_a_superseded_stream_is_told_apart() -> None:
    assert isinstance(errors.error_from_status(status_of("STREAM_SUPERSEDED")), errors.SupersededError)


@pytest.mark.parametrize(
    "trailer",
    [b"\xff\xff\xff", status_pb2.Status(code=3).SerializeToString()],
    ids=["no message", "another code"],
)
def test_a_strange_trailer_leaves_the_bare_code(trailer: bytes) -> None:
    trailers = ((errors.DETAILS_TRAILER, trailer),)
    error = errors.error_from_call(call_error(grpc.StatusCode.UNAVAILABLE, trailers))
    assert isinstance(error, errors.UnavailableError)
    assert error.reason == ""


def test_info_of_another_domain_is_not_ours() -> None:
    status = status_of("NOT_FOUND")
    status.details[0].value = status.details[0].value.replace(b"rami", b"ramo")
    assert errors.error_from_status(status).reason == ""


def test_an_unknown_code_is_a_server_error() -> None:
    assert isinstance(errors.error_from_status(status_pb2.Status(code=99)), errors.ServerError)


def test_the_reasons_used_for_telling_errors_apart_exist() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name}
    assert names >= {reason.value for reason in Reason}
    assert names >= {"STALE_VERSION", "STREAM_SUPERSEDED", "ENTROPY_ALREADY_SET", "MATCH_ALREADY_STARTED"}
