"""grpc.health.v1 for one process: NOT_SERVING until it is ready, while a check fails, and from the first
moment of draining on.

The servicer that comes with grpcio starts as SERVING and keeps its watches open while the server stops, so
that they use up the whole grace; this one does neither.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from rami_kit.errors import shutting_down

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SERVICE_NAME: Final = "grpc.health.v1.Health"
LIVENESS: Final = "liveness"
"""A name that is SERVING for as long as the process answers, ready or not: what is asked before a process is ended as
hung. One that waits for its store, or drains, must not be.
"""

_Status = health_pb2.HealthCheckResponse


class HealthServicer:
    """Answers for the whole process ("") and for each of its services, which all share its state."""

    def __init__(self) -> None:
        self._services = {""}
        self._serving = False
        self._draining = False
        self._changed = asyncio.Event()
        self._watches: set[object] = set()
        self._all_told = asyncio.Event()

    @property
    def serving(self) -> bool:
        """What callers are told."""
        return self._serving

    def add_service(self, name: str) -> None:
        """Makes a service known."""
        self._services.add(name)

    def set_serving(self, serving: bool) -> None:
        """Tells everybody who watches. Has no effect any more once draining."""
        if serving != self._serving and not self._draining:
            self._serving = serving
            self._wake()

    def drain(self) -> None:
        """NOT_SERVING for good; watches hear it and end."""
        self._serving = False
        self._draining = True
        self._wake()
        if not self._watches:
            self._all_told.set()

    @property
    def watched(self) -> bool:
        """Somebody watches."""
        return bool(self._watches)

    async def told(self) -> None:
        """Waits until everybody who watches has been told of the drain; one that does not read never is."""
        await self._all_told.wait()

    async def Check(  # noqa: N802 - the name of the RPC
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> health_pb2.HealthCheckResponse:
        if request.service not in self._services and request.service != LIVENESS:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no service of this name")
        return _Status(status=self._status(request.service))

    async def List(  # noqa: N802 - the name of the RPC
        self, _request: health_pb2.HealthListRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> health_pb2.HealthListResponse:
        answer = health_pb2.HealthListResponse()
        for name in self._services:
            answer.statuses[name].status = self._status(name)
        return answer

    async def Watch(  # noqa: N802 - the name of the RPC
        self, request: health_pb2.HealthCheckRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        told: int | None = None
        watch = object()
        self._watches.add(watch)
        try:
            while True:
                changed = self._changed
                status = self._status(request.service)
                if status != told:
                    told = status
                    yield _Status(status=status)
                    continue  # it may have changed while the answer was on its way
                if self._draining:
                    raise shutting_down()
                await changed.wait()
        finally:
            self._watches.discard(watch)
            if self._draining and not self._watches:
                self._all_told.set()

    def _status(self, service: str) -> health_pb2.HealthCheckResponse.ServingStatus:
        if service == LIVENESS:
            return _Status.SERVING
        if service not in self._services:
            return _Status.SERVICE_UNKNOWN
        return _Status.SERVING if self._serving else _Status.NOT_SERVING

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


__all__ = ["LIVENESS", "SERVICE_NAME", "HealthServicer"]
