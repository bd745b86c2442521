from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from rami.errors.v1.error_reason_pb2 import ErrorReason
from rami_engine.errors import IllegalAction, MalformedAction, OptionsError
from rami_engine.errors import Reason as RuleReason
from rami_kit.errors import (
    REASON_TO_CODE,
    STATUS_DETAILS_KEY,
    FieldViolation,
    InvalidRequest,
    RamiError,
    StoreError,
    StoreUnavailable,
    StoreUncertain,
    error_info,
    from_engine_error,
    from_rpc_error,
    parse_reason,
    reason_name,
    reasons,
    refused,
    to_status,
)

if TYPE_CHECKING:
    from rami_kit import errors

ROOT = Path(__file__).resolve().parents[3]
PROTO = ROOT / "protos" / "rami" / "errors" / "v1" / "error_reason.proto"

SENT = [value for value in ErrorReason.values() if value != ErrorReason.ERROR_REASON_UNSPECIFIED]


def documented_codes() -> dict[str, str]:
    """Reason -> status code, as the comments of the .proto file say."""
    found = re.findall(r"// ([A-Z_]+): [^\n]*\n(?:\s*//[^\n]*\n)*\s*(ERROR_REASON_[A-Z_]+) = ", PROTO.read_text())
    return {name: code for code, name in found}


def details_of(status: status_pb2.Status) -> dict[str, object]:
    found: dict[str, object] = {}
    for detail in status.details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
            message = kind()
            if detail.Unpack(message):
                found[kind.DESCRIPTOR.name] = message
    assert len(found) == len(status.details)
    return found


def rpc_error(code: grpc.StatusCode, trailers: tuple[tuple[str, bytes], ...]) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailers), details="text")


def test_every_reason_has_the_code_that_its_comment_says() -> None:
    codes = {ErrorReason.Name(reason): code.name for reason, code in REASON_TO_CODE.items()}
    assert codes == documented_codes()
    assert set(REASON_TO_CODE) == set(SENT)


@pytest.mark.parametrize("reason", SENT, ids=ErrorReason.Name)
def test_every_reason_makes_a_status_with_one_error_info(reason: errors.Reason) -> None:
    error = refused(reason, "a text", number=3)
    status = to_status(error)
    details = details_of(status)
    info = details["ErrorInfo"]
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (info.domain, info.reason) == ("rami", ErrorReason.Name(reason).removeprefix("ERROR_REASON_"))
    assert status.code == error.code.value[0]
    assert ("BadRequest" in details) == (error.code is grpc.StatusCode.INVALID_ARGUMENT)
    retried = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
    # A message that is too large stays so, however often it is sent.
    helps = reason != ErrorReason.Value("ERROR_REASON_MESSAGE_TOO_LARGE")
    assert ("RetryInfo" in details) == (error.code in retried and helps)
    if error.code is not grpc.StatusCode.INTERNAL:
        assert dict(info.metadata) == {"number": "3"}


@pytest.mark.parametrize("reason", SENT, ids=ErrorReason.Name)
def test_names_of_reasons_round_trip(reason: errors.Reason) -> None:
    assert parse_reason(reason_name(reason)) == reason


def test_unknown_reason_name_is_none() -> None:
    assert parse_reason("NEVER_HEARD_OF") is None


def test_invalid_request_names_its_field() -> None:
    details = details_of(to_status(InvalidRequest("seats", "must be 2 to 4")))
    bad_request, info = details["BadRequest"], details["ErrorInfo"]
    assert isinstance(bad_request, error_details_pb2.BadRequest)
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert [(v.field, v.description) for v in bad_request.field_violations] == [("seats", "must be 2 to 4")]
    assert dict(info.metadata) == {"field": "seats"}


def test_retry_delay_is_what_the_error_says() -> None:
    error = refused(reasons.ERROR_REASON_RATE_LIMITED, "too often", retry_after_seconds=2.25)
    retry = details_of(to_status(error))["RetryInfo"]
    assert isinstance(retry, error_details_pb2.RetryInfo)
    assert retry.retry_delay.ToNanoseconds() == 2_250_000_000


@pytest.mark.parametrize(
    "error",
    [
        StoreError("ERR wrong type near 'secret'"),
        RamiError(reasons.ERROR_REASON_INTERNAL, "secret", metadata={"k": "secret"}),
    ],
)
def test_internal_says_nothing_but_its_fixed_text(error: RamiError) -> None:
    status = to_status(error)
    assert status.message == "internal error"
    assert b"secret" not in status.SerializeToString()


def test_status_stays_within_trailers_however_long_the_texts() -> None:
    long = "é" * 100_000
    error = RamiError(
        reasons.ERROR_REASON_INVALID_REQUEST,
        long,
        metadata={f"key{n}": long for n in range(30)},
        field_violations=[FieldViolation(long, long)] * 100,
    )
    status = to_status(error)
    # The text travels percent-encoded beside the details, which travel as base64.
    assert len(status.message.encode()) * 3 + len(status.SerializeToString()) * 4 / 3 < 8000


def test_store_errors_have_the_codes_of_their_meaning() -> None:
    assert StoreUnavailable().code is grpc.StatusCode.UNAVAILABLE
    assert StoreUncertain().code is grpc.StatusCode.UNAVAILABLE
    assert isinstance(StoreUncertain(), StoreUnavailable)
    assert StoreError("x").code is grpc.StatusCode.INTERNAL


@pytest.mark.parametrize("reason", list(RuleReason))
def test_every_refusal_of_the_engine_has_its_reason(reason: RuleReason) -> None:
    error = from_engine_error(IllegalAction(reason))
    assert reason_name(error.reason) == reason.name
    assert error.code is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize(
    "engine_error", [MalformedAction("cards", "no cards"), OptionsError("target_score", "1 or more")]
)
def test_malformed_input_of_the_engine_is_an_invalid_request(engine_error: MalformedAction | OptionsError) -> None:
    error = from_engine_error(engine_error)
    assert error.reason == reasons.ERROR_REASON_INVALID_REQUEST
    assert error.field_violations == (FieldViolation(engine_error.field, engine_error.description),)


def test_a_peers_error_is_parsed_back() -> None:
    error = refused(reasons.ERROR_REASON_STALE_VERSION, "old", current_version=42)
    trailers = ((STATUS_DETAILS_KEY, to_status(error).SerializeToString()),)
    peer = from_rpc_error(rpc_error(grpc.StatusCode.ABORTED, trailers))
    assert peer == (grpc.StatusCode.ABORTED, reasons.ERROR_REASON_STALE_VERSION, {"current_version": "42"}, "text")


def foreign_info() -> bytes:
    packed = AnyMessage()
    packed.Pack(error_details_pb2.ErrorInfo(reason="NOT_YOUR_TURN", domain="example.com"))
    return bytes(status_pb2.Status(code=5, details=[packed]).SerializeToString())


@pytest.mark.parametrize(
    "trailers",
    [
        (),
        (("grpc-status-details-bin", b"\xff\xff\xff"),),
        (("other-bin", b"x"),),
        (("grpc-status-details-bin", foreign_info()),),
    ],
    ids=["none", "garbage", "another key", "another domain"],
)
def test_a_peers_error_without_readable_details_has_its_code(trailers: tuple[tuple[str, bytes], ...]) -> None:
    peer = from_rpc_error(rpc_error(grpc.StatusCode.UNAVAILABLE, trailers))
    assert peer == (grpc.StatusCode.UNAVAILABLE, None, {}, "text")


def test_a_corrupt_detail_is_no_error_info() -> None:
    status = status_pb2.Status(code=5)
    status.details.add(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff\xff")
    assert error_info(status) is None
