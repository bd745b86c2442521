"""Asking a decision service that may be many processes: who they are, who is asked, and over what.

The name of the target is looked up every few seconds, and each address has a connection of its own. A decision goes
to the address with the fewest open ones, so that who is slower, or is given the searches, gets less; one that has
just failed is asked only if nobody else is left. That is what a balancer of gRPC itself cannot do: it takes turns,
and sees a new address only when a connection ends.

Decisions travel over one long-lived stream for each address, which costs a third of a call apiece. A service that
does not have DecideMany is asked through Decide.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import random
import socket
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from game_state.decision_line import Answer, DecisionPeer
from rami_kit.channels import open_channel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from rami.ai.v1 import decision_service_pb2
    from rami_kit.auth import ServiceTokens
    from rami_kit.settings import ServiceSettings

    Resolver = Callable[[str, int], Awaitable[Collection[str]]]

LOOK_UP_SECONDS: Final = 5.0
_DNS: Final = "dns:///"

_log = logging.getLogger(__name__)


class DecisionSource(Protocol):
    """Whom decisions are asked of."""

    async def ask(self, request: bytes, seconds: float, tried: set[str]) -> Answer:
        """One answer to a serialized DecideRequest within some seconds. The address that is asked is added to `tried`,
        and one in it avoided.
        """


class Place(NamedTuple):
    """Where a part of a target is: a name and port to look up, or what only gRPC itself understands."""

    host: str
    port: int
    """0 when `host` is a whole gRPC target."""

    @classmethod
    def parse_all(cls, target: str) -> list[Place]:
        """The places of a target: comma-separated `host:port`, `dns:///host:port`, or other gRPC targets."""
        return [cls._parse(part.strip()) for part in target.split(",") if part.strip()]

    @classmethod
    def _parse(cls, part: str) -> Place:
        name, _, port = part.removeprefix(_DNS).rpartition(":")
        if not port.isdigit() or "/" in name or (":" in name and not name.startswith("[")):
            return cls(part, 0)
        return cls(name.strip("[]"), int(port))


async def look_up(host: str, port: int) -> Collection[str]:
    """The addresses of a name by the system's resolver, as gRPC targets. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return {format_address(str(address[0]), port) for *_, address in found}


def format_address(address: str, port: int) -> str:
    """A gRPC target of an IP address."""
    return f"ipv6:[{address}]:{port}" if ":" in address else f"ipv4:{address}:{port}"


class DecisionClient:
    """Asks every process behind one target. Made and used in one event loop; `run` keeps the addresses current."""

    def __init__(
        self, target: str, settings: ServiceSettings, tokens: ServiceTokens, resolve: Resolver = look_up
    ) -> None:
        """Connects to nothing before the first question."""
        self._places = Place.parse_all(target)
        self._settings = settings
        self._tokens = tokens
        self._resolve = resolve
        self._peers: dict[str, DecisionPeer] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._looked_up = asyncio.Event()

    @property
    def addresses(self) -> list[str]:
        """Who is asked at present."""
        return sorted(self._peers)

    async def run(self) -> None:
        """Look the target up, and again every few seconds, for ever."""
        while True:
            await self._look_up()
            await asyncio.sleep(LOOK_UP_SECONDS)

    async def ask(self, request: bytes, seconds: float, tried: set[str]) -> Answer:
        """See DecisionSource."""
        give_up_at = time.monotonic() + seconds
        if not self._looked_up.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self._looked_up.wait()
            except TimeoutError:
                return Answer("unavailable")
        peer = self._choose(tried)
        if peer is None:
            return Answer("unavailable")
        tried.add(peer.address)
        return await peer.ask(request, give_up_at - time.monotonic())

    async def list_bots(self, seconds: float) -> Sequence[decision_service_pb2.Bot]:
        """The bots that the service says it plays; none when it does not answer within some seconds."""
        peer = self._choose(set())
        return [] if peer is None else await peer.list_bots(seconds)

    async def close(self) -> None:
        """End every connection; what is open ends with it."""
        await asyncio.gather(*(peer.close() for peer in self._peers.values()), *self._leaving)

    def _choose(self, tried: set[str]) -> DecisionPeer | None:
        """The peer with the fewest open decisions; one that failed lately, or was tried, only if all were."""
        if len(self._peers) == 1:
            return next(iter(self._peers.values()))
        now = time.monotonic()
        return min(
            self._peers.values(),
            key=lambda peer: (peer.address in tried, peer.failed_until > now, peer.outstanding, random.random()),  # noqa: S311 - spreads load
            default=None,
        )

    async def _look_up(self) -> None:
        found: dict[str, str | None] = {}
        for place in self._places:
            if not place.port:
                found[place.host] = None
                continue
            if _is_ip(place.host):
                found[format_address(place.host, place.port)] = place.host
                continue
            try:
                found.update(dict.fromkeys(await self._resolve(place.host, place.port), place.host))
            except OSError as error:
                _log.warning("the address of a decision service cannot be looked up: %s", error)
                # Better the addresses of a moment ago than none.
                found.update({known: place.host for known, peer in self._peers.items() if peer.name == place.host})
        for address, name in found.items():
            if address not in self._peers:
                channel = open_channel(address, self._settings, name=name)
                self._peers[address] = DecisionPeer(address, name, channel, self._tokens)
        for address in [known for known in self._peers if known not in found]:
            # It gets nothing new, and what it has been asked is waited for.
            leaving = asyncio.create_task(self._peers.pop(address).retire())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        self._looked_up.set()


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


__all__ = ["DecisionClient", "DecisionSource", "Place", "format_address", "look_up"]
