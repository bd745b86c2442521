"""Who can be called: simulated gRPC servers, whose handlers and interceptors are the real ones, and their network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc

from sim.calls import Ending
from sim.world import until

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from sim.calls import Call
    from sim.links import Weather
    from sim.world import Loop, Machine, Trace

_Code: Final = grpc.StatusCode


class Details(NamedTuple):
    """What an interceptor is told of a call."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...]


class Troubles:
    """How often calls meet with an accident now. One per world; faults change it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.lost_requests = 0.0
        self.lost_answers = 0.0
        self.silent = 0.0
        """How many of the lost ones leave their caller waiting until its deadline."""
        self.doubled = 0.0
        """How many unary calls arrive twice, perhaps at two servers; the first answer is the caller's."""
        self.impatient = 0.0
        """How many callers of unary calls hang up at some moment."""

    def strikes(self, share: float) -> bool:
        """Whether it happens this time."""
        return share > 0 and self._chance.random() < share

    def moment(self, seconds: float) -> float:
        """Some time before so many seconds have passed."""
        return self._chance.random() * seconds


class Network:
    """Who can be called by which name."""

    def __init__(self, loop: Loop, weather: Weather, troubles: Troubles, trace: Trace) -> None:
        self.loop = loop
        self.weather = weather
        self.troubles = troubles
        self.servers: dict[str, list[Server]] = {}
        self._trace = trace

    def pick(self, target: str, chance: random.Random) -> Server | None:
        """A server of a name that takes calls, or one that has just gone; None where there is none."""
        servers = self.servers.get(target, [])
        return servers[chance.randrange(len(servers))] if servers else None

    def note(self, *words: object) -> None:
        """Add a line to the trace."""
        self._trace.note(self.loop.now, *words)


class Server:
    """What stands for grpc.aio.Server: it holds the registered handlers and runs them for calls that arrive."""

    def __init__(self, network: Network, machine: Machine, interceptors: Sequence[Any]) -> None:
        self.machine = machine
        self.serving = False
        self.calls: dict[Call, None] = {}
        self._network = network
        self._interceptors = interceptors
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        self._wrapped: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, _handlers: object) -> None:
        """The registered ones are enough."""

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        self._handlers.update((f"/{service}/{name}", handler) for name, handler in handlers.items())

    async def start(self) -> None:
        self.serving = True

    async def stop(self, grace: float | None) -> None:
        """Take no more calls; those that go on after the grace are cancelled."""
        self.serving = False
        await until(lambda: not self.calls, grace or 0)
        for call in list(self.calls):
            call.end_by_server(Ending(_Code.CANCELLED, "the server stops"))

    async def handler(self, call: Call) -> Any:
        """The handler of a call, as the interceptors wrap it; None for a method that there is not."""

        async def innermost(details: Any) -> grpc.RpcMethodHandler[Any, Any] | None:
            return self._handlers.get(details.method)

        if call.path not in self._wrapped:
            continuation: Any = innermost
            for interceptor in reversed(self._interceptors):
                continuation = _bound(interceptor, continuation)
            self._wrapped[call.path] = await continuation(Details(call.path, call.metadata))
        return self._wrapped[call.path]


def _bound(interceptor: Any, continuation: Any) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    async def go_on(details: Any) -> Any:
        return await interceptor.intercept_service(continuation, details)

    return go_on


__all__ = ["Details", "Network", "Server", "Troubles"]
