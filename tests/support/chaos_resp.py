"""The store's wire protocol as far as a proxy must know it: where one command or reply ends, and what a command is."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

_LINE_END = b"\r\n"


class ScriptCall(NamedTuple):
    """A script on its way to the store."""

    sha: str
    keys: tuple[bytes, ...]
    args: tuple[bytes, ...]

    @property
    def changes_room(self) -> bool:
        """Whether it commits a step of a room: of our scripts only those name the room first."""
        return bool(self.keys) and b":room:" in self.keys[0]

    @property
    def room_token(self) -> str:
        """The token of the room it commits to."""
        return self.keys[0].rpartition(b":")[2].decode()


class FrameSplitter:
    """Cuts a stream of commands or replies (RESP2) into whole ones."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that are complete with this data, byte for byte."""
        self._buffer += data
        frames = []
        start = 0
        while (end := frame_end(self._buffer, start)) is not None:
            frames.append(bytes(self._buffer[start:end]))
            start = end
        del self._buffer[:start]
        return frames


def frame_end(data: bytes | bytearray, start: int) -> int | None:
    """Where the frame that begins at `start` ends; None while it is not complete.

    Raises ValueError for bytes that begin no frame.
    """
    line_end = data.find(_LINE_END, start)
    if line_end < 0:
        return None
    kind = data[start : start + 1]
    after = line_end + len(_LINE_END)
    if kind in b"+-:" and kind:
        return after
    if kind not in (b"$", b"*"):
        raise ValueError(f"no frame begins with {bytes(kind)!r}")
    length = int(data[start + 1 : line_end])
    if length < 0:
        return after
    if kind == b"$":
        end = after + length + len(_LINE_END)
        return end if end <= len(data) else None
    end = after
    for _ in range(length):
        part = frame_end(data, end)
        if part is None:
            return None
        end = part
    return end


def command_parts(frame: bytes) -> list[bytes]:
    """The words of a command."""
    parts = []
    place = frame.index(_LINE_END) + 2
    for _ in range(int(frame[1 : place - 2])):
        line_end = frame.index(_LINE_END, place)
        length = int(frame[place + 1 : line_end])
        parts.append(frame[line_end + 2 : line_end + 2 + length])
        place = line_end + 2 + length + 2
    return parts


def script_call(frame: bytes) -> ScriptCall | None:
    """The script that a command runs; None for any other command."""
    if b"\r\nEVAL" not in frame[:32]:
        return None
    name, *parts = command_parts(frame)
    if name not in {b"EVAL", b"EVALSHA"}:
        return None
    script, count, *rest = parts
    keys = int(count)
    sha = script.decode() if name == b"EVALSHA" else hashlib.sha1(script, usedforsecurity=False).hexdigest()
    return ScriptCall(sha, tuple(rest[:keys]), tuple(rest[keys:]))
