"""The scripts of the services, run as they are: Lua 5.1 with the store's `redis` table and its conversions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from sim.values import CommandError, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_LUPA: Final = importlib.import_module("lupa.lua51")  # it has no types


class Runs(Protocol):
    """What a script can reach: see Data."""

    def run(self, name: bytes, args: Sequence[bytes], /) -> Any: ...


class ScriptRunner:
    """Compiles scripts once and runs them on whatever data it is given. One per process: it costs milliseconds."""

    def __init__(self) -> None:
        self._lua = _LUPA.LuaRuntime(encoding=None, unpack_returned_tuples=True)
        self._functions: dict[bytes, Any] = {}
        self._run: Callable[[bytes, Sequence[bytes]], Any] = _nothing_yet
        table = self._lua.table()
        table[b"call"] = self._call
        table[b"pcall"] = self._pcall
        self._lua.globals()[b"redis"] = table
        self._is_table: Final = _LUPA.lua_type

    def run(self, source: bytes, keys: Sequence[bytes], args: Sequence[bytes], data: Runs) -> Any:
        """What a script replies. Raises CommandError for what ends it; what it has written by then stays."""
        function = self._functions.get(source)
        if function is None:
            compiled = self._lua.execute(b"return function(KEYS, ARGV)\n" + source + b"\nend")
            function = self._functions[source] = compiled
        self._run = data.run
        return self._reply(function(self._lua.table_from(keys), self._lua.table_from(args)))

    def _call(self, name: bytes, *args: Any) -> Any:
        return self._value(self._run(name, [_argument(each) for each in args]))

    def _pcall(self, name: bytes, *args: Any) -> Any:
        try:
            return self._call(name, *args)
        except CommandError as error:
            table = self._lua.table()
            table[b"err"] = str(error).encode()
            return table

    def _value(self, reply: Any) -> Any:
        """What Lua sees of a reply."""
        if type(reply) is bytes or type(reply) is int:
            return reply
        if reply is None:
            return False
        if isinstance(reply, Status):
            table = self._lua.table()
            table[b"ok"] = bytes(reply)
            return table
        return self._lua.table_from([self._value(part) for part in reply])

    def _reply(self, value: Any) -> Any:
        """The reply that a value of Lua makes."""
        if value is None or value is False:
            return None
        if value is True:
            return 1
        if isinstance(value, bytes):
            return value
        if isinstance(value, int | float):
            return int(value)
        assert self._is_table(value) == "table"
        if value[b"err"] is not None:
            raise CommandError(value[b"err"].decode())
        if value[b"ok"] is not None:
            return Status(value[b"ok"])
        parts = []
        for place in range(1, len(value) + 1):
            part = value[place]
            if part is None:
                break
            parts.append(self._reply(part))
        return parts


def _nothing_yet(name: bytes, _args: Sequence[bytes]) -> Any:
    raise AssertionError(f"{name!r} outside a script")


def _argument(value: Any) -> bytes:
    """A value of Lua as the argument of a command."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return b"%.17g" % value
    raise CommandError("ERR Lua redis lib command arguments must be strings or integers")


__all__ = ["Runs", "ScriptRunner"]
