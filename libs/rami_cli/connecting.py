"""Where a cluster is, as it is typed, and a client of it.

A gRPC target, such as "127.0.0.1:7001", is a service itself or an edge, in plain text. A URL is an edge, which serves
everything: "https://play.example.com" with TLS, "http://127.0.0.1:7000" without. Certificates are checked against the
authorities that gRPC brings along, or those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import grpc
import typer

from rami_client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_client import RetryPolicy

_PORTS: Final = {"http": 80, "https": 443}
"""Where an edge listens whose URL names no port."""


class Home(NamedTuple):
    """A running cluster, by what was typed for its services."""

    game: str
    matchmaking: str


def connect(
    home: Home,
    *,
    token: str | None = None,
    deadline_seconds: float = 10.0,
    retry: RetryPolicy | None = None,
    languages: str = "",
) -> Client:
    """A client as `Client.connect` makes it; of an edge alone where there is one. Raises typer.BadParameter."""
    edge = edge_of(home.game)
    secure = edge is not None and home.game.lower().startswith("https:")
    return Client.connect(
        game=edge or home.game,
        matchmaking=None if edge else home.matchmaking,
        token=token,
        credentials=grpc.ssl_channel_credentials() if secure else None,
        deadline_seconds=deadline_seconds,
        retry=retry,
        languages=languages,
    )


@asynccontextmanager
async def connect_to_look(game: str, matchmaking: str, token: str | None) -> AsyncIterator[Client]:
    """A client that looks at rooms and takes no seat: with the token, or as a guest without one."""
    async with connect(Home(game, matchmaking), token=token) as client:
        if token is None:
            await client.sign_in_as_guest("Watcher")
        yield client


def edge_of(typed: str) -> str | None:
    """The gRPC target of an edge that was typed as a URL; None for what is no URL. Raises typer.BadParameter."""
    scheme, separator, _ = typed.partition("://")
    if not separator or scheme.lower() not in _PORTS:
        return None
    try:
        url = urlsplit(typed)
        port = url.port or _PORTS[url.scheme]
    except ValueError as error:
        raise typer.BadParameter(f"{typed}: {error}") from None
    if not url.hostname or url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise typer.BadParameter(f"{typed} is not the address of an edge, such as https://play.example.com")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{host}:{port}"


__all__ = ["Home", "connect", "connect_to_look", "edge_of"]
