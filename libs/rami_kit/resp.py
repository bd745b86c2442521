"""One connection to the store: an asyncio protocol around hiredis, with no queue and no retry of its own.

The store's clients (batches, the subscriber) write whole commands and get replies in order, one call a reply.
It is leaner than a general client's connection, which matters because every action of every match passes
through it: no stream buffers, no task and no timer a reply. RESP2 is spoken, so replies are bytes, int,
lists, None, or `hiredis.ReplyError` for an error of the server.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import hiredis

if TYPE_CHECKING:
    from collections.abc import Callable

Reply: TypeAlias = Any
Argument: TypeAlias = "str | bytes | int | float"

DEFAULT_PORT: Final = 6379
_NOT_ENOUGH: Final = object()

pack_command: Final[Callable[[tuple[Argument, ...]], bytes]] = hiredis.pack_command  # type: ignore[assignment]
"""Encodes one command. Its stub speaks of one-element tuples, hence the ignored type."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store listens and how to sign in there. The password is not part of its repr."""

    host: str = ""
    port: int = DEFAULT_PORT
    path: str = ""
    """Path of a Unix socket; `host` and `port` are then unused."""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    database: int = 0
    tls: bool = False

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address that a redis://, rediss:// or unix:// URL names. Raises ValueError without its text."""
        try:
            parts = urlsplit(url)
            port = parts.port or DEFAULT_PORT
        except ValueError:
            raise ValueError("is no URL") from None
        username, password = unquote(parts.username or ""), unquote(parts.password or "")
        query = dict(parse_qsl(parts.query))
        if parts.scheme == "unix":
            database, path = query.pop("db", "0"), unquote(parts.path)
            if not path or query:
                raise ValueError("must be unix:///path, with nothing but db=<number> after it")
            if not (database.isascii() and database.isdecimal()):
                raise ValueError("names a database that is no number")
            return cls(path=path, username=username, password=password, database=int(database))
        if parts.scheme not in {"redis", "rediss"}:
            raise ValueError("must begin with redis://, rediss:// or unix://")
        database = parts.path.removeprefix("/") or "0"
        if not parts.hostname or query:
            raise ValueError("must be redis://[user:password@]host[:port][/database], with no parameters")
        if not (database.isascii() and database.isdecimal()):
            raise ValueError("names a database that is no number")
        return cls(parts.hostname, port, "", username, password, int(database), parts.scheme == "rediss")

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


class ConnectError(Exception):
    """No connection could be made, or the server refused the sign-in; the text names the address alone."""


class RespConnection(asyncio.Protocol):
    """One open connection. `on_reply` gets every reply in order, `on_lost` is called once when it ends.

    Both are plain attributes that the owner sets; they run inside the event loop and must not block or raise.
    """

    __slots__ = ("_reader", "_transport", "closed", "on_lost", "on_reply")

    def __init__(self) -> None:
        self._reader = hiredis.Reader(notEnoughData=_NOT_ENOUGH)
        self._transport: asyncio.Transport | None = None
        self.closed = False
        self.on_reply: Callable[[Reply], None] = _ignore_reply
        self.on_lost: Callable[[], None] = _ignore_loss

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not _NOT_ENOUGH:
                self.on_reply(reply)
                if self.closed:
                    return
        except hiredis.ProtocolError:
            # Whatever follows cannot be matched with what was asked.
            self.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.close()

    def write(self, data: bytes) -> None:
        """Sends packed commands; the caller knows how many replies they make. On a closed connection, nothing."""
        if self._transport is not None and not self.closed:
            self._transport.write(data)

    def close(self) -> None:
        """Ends the connection now, unsent and unread bytes included. Calling it again does nothing."""
        if self.closed:
            return
        self.closed = True
        if self._transport is not None:
            self._transport.abort()
        self.on_lost()


async def connect(
    address: Address,
    *,
    timeout_seconds: float,
    client_name: str,
    primary: bool = False,
    password_optional: bool = False,
) -> RespConnection:
    """Opens a connection and signs in. Raises ConnectError; leaves nothing open then or when cancelled.

    With `primary`, a server that says it is a replica is refused: one that has just come back as such is still
    empty, and what is read there looks as if it had never been. Nodes of a cluster need no such care, as they
    send away whoever asks for what they are not in charge of. With `password_optional`, a server that does not
    know the password, as it may want none, is not refused for that: it refuses what comes next if it wants one.
    """
    loop = asyncio.get_running_loop()
    connection: RespConnection | None = None
    try:
        async with asyncio.timeout(timeout_seconds):
            if address.path:
                _, connection = await loop.create_unix_connection(RespConnection, address.path)
            else:
                context = ssl.create_default_context() if address.tls else None
                _, connection = await loop.create_connection(RespConnection, address.host, address.port, ssl=context)
            await _sign_in(connection, address, client_name, primary=primary, password_optional=password_optional)
    except TimeoutError:
        _close(connection)
        raise ConnectError(f"no answer from {address} within {timeout_seconds:g} s") from None
    except UnicodeError:
        _close(connection)
        raise ConnectError(f"{address} is no name of a host") from None
    except OSError as error:
        _close(connection)
        raise ConnectError(f"cannot reach {address}: {error.strerror or type(error).__name__}") from None
    except BaseException:
        _close(connection)
        raise
    return connection


async def exchange(connection: RespConnection, *commands: tuple[Argument, ...]) -> list[Reply]:
    """Sends commands on a connection that is otherwise idle and returns their replies, errors among them.

    Raises ConnectError when the connection ends first. The caller bounds the time.
    """
    done: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
    replies: list[Reply] = []

    def on_reply(reply: Reply) -> None:
        replies.append(reply)
        if len(replies) == len(commands) and not done.done():
            done.set_result(replies)

    def on_lost() -> None:
        if not done.done():
            done.set_exception(ConnectError("the connection was closed"))

    connection.on_reply, connection.on_lost = on_reply, on_lost
    if connection.closed:
        on_lost()
    connection.write(b"".join(pack_command(command) for command in commands))
    try:
        return await done
    finally:
        connection.on_reply, connection.on_lost = _ignore_reply, _ignore_loss


async def _sign_in(
    connection: RespConnection, address: Address, client_name: str, *, primary: bool, password_optional: bool
) -> None:
    commands: list[tuple[Argument, ...]] = []
    if address.password:
        credentials = (address.username, address.password) if address.username else (address.password,)
        commands.append(("AUTH", *credentials))
    if address.database:
        commands.append(("SELECT", address.database))
    commands.append(("CLIENT", "SETNAME", client_name))
    *replies, hello = await exchange(connection, *commands, ("HELLO", 2))
    for command, reply in zip(commands, replies, strict=True):
        # A server that is loading or wants a password says so here. The error code is its first word; the
        # rest could repeat what was sent.
        if isinstance(reply, hiredis.ReplyError) and not (password_optional and command[0] == "AUTH"):
            raise ConnectError(f"{address} refused {command[0]!s}: {str(reply).partition(' ')[0]}")
    # A server too old to know the command, or one that forbids it, is believed to be what the settings say.
    told = dict(zip(hello[::2], hello[1::2], strict=False)) if isinstance(hello, list) else {}
    if primary and told.get(b"role") == b"replica" and told.get(b"mode") == b"standalone":
        raise ConnectError(f"{address} is a replica")


def _close(connection: RespConnection | None) -> None:
    if connection is not None:
        connection.close()


def _ignore_reply(_reply: Reply) -> None:
    """Nobody waits for a reply."""


def _ignore_loss() -> None:
    """Nobody waits for the end."""


__all__ = [
    "Address",
    "Argument",
    "ConnectError",
    "Reply",
    "RespConnection",
    "connect",
    "exchange",
    "pack_command",
]
