"""What health says of the process itself, apart from whether it is ready."""

from __future__ import annotations

from typing import Any, cast

from grpc_health.v1 import health_pb2

from rami_kit.health import LIVENESS, HealthServicer

NOBODY = cast("Any", None)


async def asked(servicer: HealthServicer, name: str) -> str:
    answer = await servicer.Check(health_pb2.HealthCheckRequest(service=name), NOBODY)
    name_of: str = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return name_of


async def test_a_process_that_is_not_ready_or_drains_is_alive() -> None:
    servicer = HealthServicer()
    servicer.add_service("rami.test")
    assert [await asked(servicer, name) for name in ("", "rami.test", LIVENESS)] == ["NOT_SERVING"] * 2 + ["SERVING"]
    servicer.set_serving(True)
    assert await asked(servicer, "rami.test") == "SERVING"
    servicer.drain()
    assert [await asked(servicer, name) for name in ("", "rami.test", LIVENESS)] == ["NOT_SERVING"] * 2 + ["SERVING"]


async def test_liveness_is_no_service_that_is_listed() -> None:
    servicer = HealthServicer()
    answer = await servicer.List(health_pb2.HealthListRequest(), NOBODY)
    assert set(answer.statuses) == {""}
