"""Who gets in: identity, then how often, then how many streams at once.

A caller that shows a service's token is ours and is never limited. Everybody else counts for the address that the
call comes from, also with a bad token or none, and a player for the player as well.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rami_kit.access import Access
from rami_kit.auth import CallerKind, set_current_caller
from rami_kit.errors import RamiError, reasons, refused
from rami_kit.peers import PeerAddresses
from rami_kit.rates import Buckets, Rate, set_message_charge

if TYPE_CHECKING:
    import grpc.aio

    from rami_kit.auth import Caller, TokenVerifier
    from rami_kit.metrics import GrpcMetrics
    from rami_kit.settings import ServiceSettings

    Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]

RATE_PER_PLAYER: Final = "rate_per_player"
RATE_PER_ADDRESS: Final = "rate_per_address"
STREAMS_PER_PLAYER: Final = "streams_per_player"
STREAMS_PER_ADDRESS: Final = "streams_per_address"
STREAMS_PER_PROCESS: Final = "streams_per_process"


_address: contextvars.ContextVar[str] = contextvars.ContextVar("rami_address", default="")


def current_address() -> str:
    """Whom the RPC that this task handles counts for besides its player; empty for a service and outside an RPC."""
    return _address.get()


class Visit:
    """One call that got in. `leave` must be called for streams, once they are over."""

    __slots__ = ("_admission", "address", "caller", "stream_key")

    def __init__(self, admission: Admission, caller: Caller | None, address: str) -> None:
        self._admission = admission
        self.caller = caller
        """None where nobody had to show a token."""
        self.address = address
        """Whom the call counts for besides its player; empty for a service."""
        self.stream_key = ""
        """Under which its stream is counted; empty for one that is not."""

    def charge(self) -> None:
        """Counts another message as a call. Raises RATE_LIMITED."""
        if self.address:
            self._admission.charge(self.address, self.caller)

    def leave(self) -> None:
        """The stream is over."""
        if self.stream_key:
            self._admission.end_stream(self.stream_key)
            self.stream_key = ""


class Admission:
    """The door of one process."""

    def __init__(
        self,
        verifier: TokenVerifier,
        metrics: GrpcMetrics,
        *,
        player_rate: Rate | None = None,
        address_rate: Rate | None = None,
        peers: PeerAddresses | None = None,
        max_streams: int = 0,
        max_streams_per_player: int = 0,
    ) -> None:
        """A rate of None and a cap of 0 mean none."""
        self._verifier = verifier
        self._players = Buckets(player_rate) if player_rate is not None else None
        self._addresses = Buckets(address_rate) if address_rate is not None else None
        self._peers = peers or PeerAddresses()
        self._max_streams = max_streams
        self._max_streams_each = max_streams_per_player
        self._streams: dict[str, int] = {}
        self._open_streams = 0
        """Streams that count against the cap of the process."""
        self._limited = metrics.limited
        self._limited.prepare(
            (RATE_PER_PLAYER, RATE_PER_ADDRESS, STREAMS_PER_PLAYER, STREAMS_PER_ADDRESS, STREAMS_PER_PROCESS)
        )

    @classmethod
    def from_settings(cls, settings: ServiceSettings, verifier: TokenVerifier, metrics: GrpcMetrics) -> Admission:
        """The door that the settings describe."""
        return cls(
            verifier,
            metrics,
            player_rate=make_rate(settings.rate_per_player, settings.rate_per_player_burst),
            address_rate=make_rate(settings.rate_per_address, settings.rate_per_address_burst),
            peers=PeerAddresses(settings.trusted_networks),
            max_streams=settings.max_streams,
            max_streams_per_player=settings.max_streams_per_player,
        )

    def admit(self, access: Access, context: Context, own_rate: Buckets | None = None) -> Visit:
        """Lets a call in; its caller is the current one from now on.

        `own_rate`: what a public method allows each address on top. Raises RamiError: UNAUTHENTICATED with the
        reason, RATE_LIMITED, and SCOPE_MISSING for a caller of the wrong kind.
        """
        metadata = context.invocation_metadata()
        if access is Access.PUBLIC or access is Access.PROBE:
            address = self._peers.address(context.peer(), metadata)
            if access is Access.PUBLIC:
                self.charge(address, None, own_rate)
            return Visit(self, None, address)
        try:
            caller = self._verifier.verify_metadata(metadata)
        except RamiError:
            self.charge(self._peers.address(context.peer(), metadata), None)
            raise
        address = ""
        if caller.kind is CallerKind.PLAYER:
            address = self._peers.address(context.peer(), metadata)
            self.charge(address, caller)
        wanted = CallerKind.PLAYER if access is Access.PLAYER else CallerKind.SERVICE
        if caller.kind is not wanted:
            raise refused(
                reasons.ERROR_REASON_SCOPE_MISSING,
                f"the method is for {wanted.value}s only",
                scope=wanted.value,
            )
        set_current_caller(caller)
        _address.set(address)
        return Visit(self, caller, address)

    def admit_stream(self, access: Access, context: Context) -> Visit:
        """As `admit`, for a stream, which also takes its place among those of the process and of its caller.

        Raises LIMIT_REACHED when there is no place; `leave` the visit when the stream is over.
        """
        visit = self.admit(access, context)
        caller = visit.caller
        if not visit.address:
            return visit
        if self._max_streams and self._open_streams >= self._max_streams and access is not Access.PROBE:
            raise self._full(STREAMS_PER_PROCESS, "the process has as many streams as it bears", self._max_streams)
        key = visit.address if caller is None else caller.player_id
        open_here = self._streams.get(key, 0)
        if self._max_streams_each and open_here >= self._max_streams_each:
            limit = STREAMS_PER_ADDRESS if caller is None else STREAMS_PER_PLAYER
            raise self._full(limit, "the caller has too many open streams", self._max_streams_each)
        self._streams[key] = open_here + 1
        self._open_streams += 1
        visit.stream_key = key
        set_message_charge(visit.charge)
        return visit

    def charge(self, address: str, caller: Caller | None, own_rate: Buckets | None = None) -> None:
        """Counts a call of a player, or of nobody that is known, from an address. Raises RATE_LIMITED."""
        for buckets in (self._addresses, own_rate):
            wait = buckets.take(address) if buckets is not None else 0.0
            if wait:
                raise self._too_often(RATE_PER_ADDRESS, "the address calls too often", wait)
        if caller is not None and self._players is not None:
            wait = self._players.take(caller.player_id)
            if wait:
                raise self._too_often(RATE_PER_PLAYER, "the player calls too often", wait)

    def end_stream(self, key: str) -> None:
        """Gives a place among the streams back."""
        self._open_streams -= 1
        left = self._streams[key] - 1
        if left:
            self._streams[key] = left
        else:
            del self._streams[key]

    def _too_often(self, limit: str, message: str, wait: float) -> RamiError:
        self._limited.labels(limit).inc()
        return refused(reasons.ERROR_REASON_RATE_LIMITED, message, retry_after_seconds=wait, limit=limit)

    def _full(self, limit: str, message: str, value: int) -> RamiError:
        self._limited.labels(limit).inc()
        return refused(reasons.ERROR_REASON_LIMIT_REACHED, message, limit=limit, value=value)


def make_rate(per_second: float, burst: int) -> Rate | None:
    """A rate of the settings, where 0 means none."""
    return Rate(per_second, burst) if per_second else None


__all__ = ["Admission", "Visit", "current_address", "make_rate"]
