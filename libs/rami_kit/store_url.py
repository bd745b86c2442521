"""What RAMI_REDIS_URL may say: one server, the sentinels that know one, or nodes of a cluster.

    redis://[user:password@]host[:port][/database]                                   one server
    unix:///path[?db=database]                                                       one server on this machine
    redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/database]  port 26379 by default
    redis+cluster://[user:password@]host[:port][,host[:port]...]                     port 6379 by default

With `rediss` in place of `redis` every connection is TLS. The user and password are those of the servers that
hold the data; sentinels that want a password get the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import unquote, urlsplit

from rami_kit.resp import DEFAULT_PORT, Address

SENTINEL_PORT: Final = 26379


class Topology(Enum):
    """How the servers of a store stand to each other."""

    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


_SCHEMES: Final = {
    "redis+sentinel": (Topology.SENTINEL, False),
    "rediss+sentinel": (Topology.SENTINEL, True),
    "redis+cluster": (Topology.CLUSTER, False),
    "rediss+cluster": (Topology.CLUSTER, True),
}


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """The servers that a URL names. Passwords are not part of its repr."""

    topology: Topology
    addresses: tuple[Address, ...]
    """The server, the sentinels, or some nodes of the cluster. Of a sentinel's address, the host, port and TLS
    are the sentinel's; the user, the password and the database are those of the servers it watches.
    """
    service: str = ""
    """The name by which sentinels know the master."""

    @classmethod
    def parse(cls, url: str) -> StoreUrl:
        """The servers that a URL names. Raises ValueError, which says what is wrong without the URL's text."""
        scheme = url.partition("://")[0].lower()
        if scheme not in _SCHEMES:
            if "+" in scheme:
                raise ValueError("must begin with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
            return cls(Topology.SINGLE, (Address.parse(url),))
        topology, tls = _SCHEMES[scheme]
        rest = url.partition("://")[2]
        if "?" in rest or "#" in rest:
            raise ValueError("takes no parameters with sentinels or a cluster")
        authority, _, path = rest.partition("/")
        credentials, _, hosts = authority.rpartition("@")
        username, _, password = credentials.partition(":")
        service, database = "", 0
        if topology is Topology.SENTINEL:
            service, database = _service(path)
        elif path:
            raise ValueError("must be redis+cluster://[user:password@]host[:port][,...]: a cluster has no databases")
        default_port = SENTINEL_PORT if topology is Topology.SENTINEL else DEFAULT_PORT
        places = [_place(text, default_port) for text in hosts.split(",")]
        if len(set(places)) != len(places):
            raise ValueError("names one host and port twice")
        addresses = tuple(
            Address(host, port, "", unquote(username), unquote(password), database, tls) for host, port in places
        )
        return cls(topology, addresses, service)


def _service(path: str) -> tuple[str, int]:
    service, _, database = path.partition("/")
    if not service:
        raise ValueError("must name the service that the sentinels watch: redis+sentinel://host[:port][,...]/service")
    database = database or "0"
    if not (database.isascii() and database.isdecimal()):
        raise ValueError("names a database that is no number")
    return unquote(service), int(database)


def _place(text: str, default_port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("names a port that is none") from None
    if not host or port == 0:
        raise ValueError("must name a host, or several with commas between: host[:port][,host[:port]...]")
    return host, port or default_port


__all__ = ["SENTINEL_PORT", "StoreUrl", "Topology"]
