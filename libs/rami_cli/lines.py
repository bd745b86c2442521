"""Lines that somebody types, read without blocking the event loop and without a thread that outlives its use."""

from __future__ import annotations

import asyncio
import os
from typing import Final, Self

_CHUNK: Final = 4096


class LineReader:
    """Reads lines from a file descriptor. Use it as a context manager in a running event loop."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._watching = False

    def __enter__(self) -> Self:
        try:
            asyncio.get_running_loop().add_reader(self._descriptor, self._on_readable)
            self._watching = True
        except OSError:
            # A file: never a reason to wait.
            while self._take(os.read(self._descriptor, _CHUNK)):
                pass
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    async def read(self) -> str | None:
        """The next line without its end; None at the end of the input."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line

    def _on_readable(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError:  # a terminal whose window was closed
            chunk = b""
        if not self._take(chunk):
            self._stop()

    def _take(self, chunk: bytes) -> bool:
        """Takes what was read; False at the end of the input."""
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        if not chunk and self._buffer:
            lines.append(self._buffer)
        for line in lines:
            self._lines.put_nowait(line.decode("utf-8", errors="replace").rstrip("\r"))
        if not chunk:
            self._lines.put_nowait(None)
        return bool(chunk)

    def _stop(self) -> None:
        if self._watching:
            self._watching = False
            asyncio.get_running_loop().remove_reader(self._descriptor)
