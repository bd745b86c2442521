"""A server of the simulated store, its connections, and everything that may happen to it.

It speaks the protocol, so that the services' own clients are used to the last byte. It can be paused, lose its
connections, break one off before or after a script, and come back as a replica that has not got the latest commits.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sim.connections import Connection, Encoded, encoded
from sim.data import Data
from sim.values import CommandError, Status
from sim.world import EPOCH, this_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rami_kit.redis_store import Script
    from sim.links import Weather
    from sim.lua import Runs, ScriptRunner
    from sim.plan import Fault
    from sim.world import Loop, Machine, Trace

_BLOCKED: Final = Encoded()


@dataclass(slots=True)
class Trap:
    """Something that happens around a script that is still to come."""

    scripts: frozenset[str]
    machine: str
    """Whose script; empty for anybody's."""
    countdown: int
    """The trap lets so many scripts pass before it."""
    after: bool
    """Once the script has run, before its reply leaves; else before it runs."""
    deed: Callable[[Machine], None]
    """What happens besides the connection being cut, which always is."""


class StoreServer:
    """One server, which may be all of the store. `scripts` are told apart by their names in traps and the trace."""

    def __init__(
        self, loop: Loop, weather: Weather, runner: ScriptRunner, trace: Trace, scripts: Iterable[Script]
    ) -> None:
        self.data = Data()
        self.weather = weather
        self.paused = False
        self.away = False
        """Refuses connections."""
        self.traps: list[Trap] = []
        self.commits = 0
        """Steps of rooms committed."""
        self.on_commit: Callable[[], None] | None = None
        self.on_script: Callable[[bytes, list[bytes], list[bytes], Any], None] | None = None
        """Gets source, keys, arguments and reply of every script that has run."""
        self.context = contextvars.Context()
        self.upheaval = asyncio.Lock()
        """Held while a server changes what it has, but for commands: one such change at a time."""
        self._loop = loop
        self._runner = runner
        self._trace = trace
        self._names = {script.sha: script.name for script in scripts}
        self._known: dict[bytes, bytes] = {}
        self._connections: dict[Connection, None] = {}
        self._replica: Any = None
        """What the replica has; None while it has everything."""
        self._replica_writes = 0

    async def connect(self, factory: Callable[[], Any], _host: str, _port: int) -> tuple[Connection, Any]:
        """A connection for a client on the machine that asks. Raises OSError."""
        machine = this_machine()
        await asyncio.sleep(self.weather.delay())
        if self.away or not machine.alive:
            raise ConnectionRefusedError(111, "Connection refused")
        protocol = factory()
        connection = Connection(self, machine, protocol)
        self._connections[connection] = None
        protocol.connection_made(connection)
        return connection, protocol

    def forget(self, connection: Connection) -> None:
        """A connection is over."""
        self._connections.pop(connection, None)

    def subscribers(self) -> list[bytes]:
        """Every channel that somebody listens to, once for each who does."""
        return [channel for connection in self._connections for channel in connection.channels]

    # As a store of one server; see ClusterStore for one of several.

    @property
    def servers(self) -> Sequence[StoreServer]:
        """The servers that the store has."""
        return (self,)

    @property
    def wrong(self) -> Sequence[str]:
        """What nobody may have asked for."""
        return ()

    def victim(self, _fault: Fault) -> StoreServer:
        """The server that a fault befalls."""
        return self

    def holder(self, _key: str) -> Data:
        """What the server of a key has."""
        return self.data

    # What may happen to it.

    def cut(self, machine: Machine | None = None, *, listening: bool | None = None) -> None:
        """Cut the connections of a machine, or all; only those that listen to channels, or only the others."""
        for connection in list(self._connections):
            wanted = machine is None or connection.machine is machine
            if wanted and (listening is None or listening == bool(connection.channels)):
                connection.cut()

    def abandon(self, machine: Machine) -> None:
        """A machine has stopped: what it had sent still arrives, and nothing goes there any more."""
        for connection in list(self._connections):
            if connection.machine is machine:
                connection.abort()

    def pause(self) -> None:
        """Answer nobody until `resume`."""
        self.paused = True

    def resume(self) -> None:
        """Answer everybody who has waited."""
        self.paused = False
        for connection in list(self._connections):
            self.serve(connection)

    def forget_scripts(self) -> None:
        """As SCRIPT FLUSH does."""
        self._known.clear()

    def stop_replicating(self) -> None:
        """From here on the replica, and the disk, get nothing."""
        if self._replica is None:
            self._replica, self._replica_writes = self.data.copy_keys(), self.data.writes

    def catch_up(self) -> None:
        """The replica has everything again."""
        self._replica = None
        for connection in list(self._connections):
            if connection.blocked is not None:
                self._unblock(connection, durable=True)

    def fail_over(self) -> None:
        """The replica takes over: it has what it got, knows no script, and everybody has to connect anew."""
        self.cut()
        if self._replica is not None:
            self.data.put_keys(self._replica)
            self._replica = None
        self._known.clear()

    # Serving.

    def serve(self, connection: Connection) -> None:
        """Execute what a connection has sent."""
        replies: list[bytes] = []
        while connection.waiting and not self.paused and connection.blocked is None and not connection.closed:
            command = connection.waiting.popleft()
            trap = self._trap(connection, command, after=False)
            if trap is not None:
                self._spring(trap, connection)
                return
            reply = self._execute(connection, command)
            trap = self._trap(connection, command, after=True)
            if trap is not None:
                self._spring(trap, connection)
                return
            replies.append(reply if type(reply) is Encoded else encoded(reply))
        if replies:
            connection.reply(b"".join(replies))

    def _execute(self, connection: Connection, command: list[bytes]) -> Any:
        data = self.data
        data.now_us = round((EPOCH + self._loop.now) * 1e6)
        before, name = data.writes, command[0].upper()
        try:
            reply = self._run(connection, name, command)
        except CommandError as error:
            reply = error
        if data.writes != before:
            connection.written = data.writes
        if data.published:
            published, data.published = data.published, []
            for channel, message in published:
                self._publish(channel, message)
        return reply

    def _run(self, connection: Connection, name: bytes, command: list[bytes]) -> Any:
        if name in (b"EVALSHA", b"EVAL"):
            source = self._known.get(command[1]) if name == b"EVALSHA" else command[1]
            if source is None:
                raise CommandError("NOSCRIPT No matching script. Please use EVAL.")
            count = int(command[2])
            keys, args = command[3 : 3 + count], command[3 + count :]
            reply = self._runner.run(source, keys, args, self._within(keys))
            if self.on_script is not None:
                self.on_script(source, keys, args, reply)
            script = self._script(command)
            if self._trace.kept:
                asked = b" ".join(keys + args)
                self._trace.note(self._loop.now, connection.machine, script, asked, _brief(reply))
            if script == "commit" and reply == 1:
                self.commits += 1
                if self.on_commit is not None:
                    self.on_commit()
            return reply
        serve = getattr(self, f"_serve_{name.decode().lower()}", None)
        if serve is not None:
            return serve(connection, command[1:])
        return self.data.run(name, command[1:])

    def _within(self, _keys: list[bytes]) -> Runs:
        """What a script with these keys can reach."""
        return self.data

    def _script(self, command: list[bytes]) -> str:
        """The name of the script that a command runs; empty for any other command."""
        name = command[0].upper()
        if name == b"EVALSHA":
            return self._names.get(command[1], "?")
        return self._names.get(_sha(command[1]), "?") if name == b"EVAL" else ""

    def _serve_client(self, _connection: Connection, _args: list[bytes]) -> Status:
        return Status(b"OK")

    def _serve_hello(self, _connection: Connection, _args: list[bytes]) -> list[bytes]:
        return [b"mode", b"standalone", b"role", b"master"]

    def _serve_ping(self, connection: Connection, _args: list[bytes]) -> Any:
        return [b"pong", b""] if connection.channels else Status(b"PONG")

    def _serve_script(self, _connection: Connection, args: list[bytes]) -> bytes:
        sha = _sha(args[1])
        self._known[sha] = args[1]
        return sha

    def _serve_info(self, _connection: Connection, _args: list[bytes]) -> bytes:
        return b"aof_enabled:1\r\nconnected_slaves:1\r\n"

    def _serve_command(self, _connection: Connection, args: list[bytes]) -> list[Any]:
        return [[args[1].lower(), -4]]

    def _serve_ssubscribe(self, connection: Connection, channels: list[bytes]) -> Encoded:
        replies = []
        for channel in channels:
            connection.channels[channel] = None
            replies.append(encoded([b"ssubscribe", channel, len(connection.channels)]))
        return Encoded(b"".join(replies))

    def _serve_sunsubscribe(self, connection: Connection, channels: list[bytes]) -> Encoded:
        replies = []
        for channel in channels:
            connection.channels.pop(channel, None)
            replies.append(encoded([b"sunsubscribe", channel, len(connection.channels)]))
        return Encoded(b"".join(replies))

    def _serve_wait(self, connection: Connection, args: list[bytes]) -> Any:
        return self._wait(connection, int(args[1]) / 1000, 1, 0)

    def _serve_waitaof(self, connection: Connection, args: list[bytes]) -> Any:
        return self._wait(connection, int(args[2]) / 1000, [1, 0], [0, 0])

    def _wait(self, connection: Connection, seconds: float, durable: Any, in_doubt: Any) -> Any:
        if self._replica is None or connection.written <= self._replica_writes:
            return durable
        connection.blocked = self._loop.call_later(seconds, self._unblock, connection, False)
        connection.blocked_replies = (in_doubt, durable)
        return _BLOCKED

    def _unblock(self, connection: Connection, durable: bool) -> None:
        if connection.blocked is not None:
            connection.blocked.cancel()
            connection.blocked = None
            connection.reply(encoded(connection.blocked_replies[durable]))
            self.serve(connection)

    def _publish(self, channel: bytes, message: bytes) -> None:
        frame = encoded([b"smessage", channel, message])
        for connection in self._connections:
            if channel in connection.channels:
                connection.reply(frame)

    # Traps.

    def _trap(self, connection: Connection, command: list[bytes], *, after: bool) -> Trap | None:
        if not self.traps:
            return None
        script = self._script(command)
        for trap in self.traps:
            if trap.after == after and script in trap.scripts and trap.machine in ("", connection.machine.name):
                trap.countdown -= 1
                if trap.countdown < 0:
                    self.traps.remove(trap)
                    return trap
        return None

    def _spring(self, trap: Trap, connection: Connection) -> None:
        when = "after" if trap.after else "before"
        self._trace.note(self._loop.now, "trap", connection.machine, when, *sorted(trap.scripts))
        connection.cut()
        trap.deed(connection.machine)


def _sha(source: bytes) -> bytes:
    return hashlib.sha1(source, usedforsecurity=False).hexdigest().encode()


def _brief(reply: Any) -> object:
    return f"[{len(reply)}]" if isinstance(reply, list) else reply


__all__ = ["StoreServer", "Trap"]
