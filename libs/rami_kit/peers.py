"""From which address a call comes: that of the connection, or what a trusted proxy says.

Behind a proxy every connection is the proxy's. RAMI_TRUSTED_PROXIES names those that are believed, and only they: from
anybody else `x-forwarded-for` is whatever a stranger wrote into it. Read from its end, the header names the caller
of the last proxy first; while that is a trusted one itself, the word before is believed as well. A header that is
missing or unreadable counts as the nearest proxy's own address, which all such calls then share.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED_KEY: Final = "x-forwarded-for"
MAX_HOPS: Final = 8
"""Trusted proxies in a row that are passed over; further ones are not looked for."""
MAX_TEXT: Final = 64
"""Characters of an address, with room for spaces."""
ADDRESSES_KEPT: Final = 16_384
"""Texts of addresses whose meaning is remembered."""
HOME_PREFIX: Final = 64
"""Whoever has one IPv6 address has all of this network."""
UNKNOWN: Final = "unknown"
LOCAL: Final = "local"


class _Place(NamedTuple):
    key: str
    trusted: bool


class PeerAddresses:
    """Tells calls apart by where they come from."""

    def __init__(self, trusted: Sequence[Network] = ()) -> None:
        """`trusted`: the proxies that are believed."""
        self._trusted = trusted
        self._of_peer = lru_cache(ADDRESSES_KEPT)(self._place_of_peer)
        self._of_hop = lru_cache(ADDRESSES_KEPT)(self._place_of_text)

    def address(self, peer: str, metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
        """Whom a call counts for: an IPv4 address, an IPv6 network, "local" for unix sockets, else "unknown".

        `peer` is as gRPC writes it, such as "ipv4:10.0.0.7:50412".
        """
        place = self._of_peer(peer)
        return self._forwarded(place.key, metadata) if place.trusted else place.key

    def _forwarded(self, proxy: str, metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
        texts = [value for key, value in metadata or () if key == FORWARDED_KEY]
        if not texts or not isinstance(texts[-1], str):
            return proxy
        nearest = proxy
        for hop in reversed(texts[-1].rsplit(",", MAX_HOPS)[-MAX_HOPS:]):
            place = self._of_hop(hop.strip()) if len(hop) <= MAX_TEXT else None
            if place is None:
                break
            nearest = place.key
            if not place.trusted:
                break
        return nearest

    def _place_of_peer(self, peer: str) -> _Place:
        kind, _, rest = peer.partition(":")
        if kind == "unix":
            return _Place(LOCAL, trusted=False)
        host = unquote(rest).rpartition(":")[0].removeprefix("[").removesuffix("]")
        return self._place_of_text(host) or _Place(UNKNOWN, trusted=False)

    def _place_of_text(self, text: str) -> _Place | None:
        address = _parse(text.partition("%")[0])
        if address is None:
            return None
        trusted = any(address in network for network in self._trusted)
        if isinstance(address, ipaddress.IPv6Address):
            return _Place(str(ipaddress.IPv6Network((address, HOME_PREFIX), strict=False)), trusted)
        return _Place(str(address), trusted)


def parse_networks(text: str) -> tuple[Network, ...]:
    """The networks of a text such as "10.0.0.7, fd00::/8". Raises ValueError, which does not repeat the text."""
    networks = []
    for part in text.split(","):
        try:
            networks.append(ipaddress.ip_network(part.strip()))
        except ValueError:
            raise ValueError("must be addresses or networks such as 10.0.0.0/8, with commas between them") from None
    return tuple(networks)


def _parse(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A socket that listens on both kinds shows IPv4 callers as IPv6 ones.
    return getattr(address, "ipv4_mapped", None) or address


__all__ = ["Network", "PeerAddresses", "parse_networks"]
