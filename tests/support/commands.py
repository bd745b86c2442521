"""Running the `rami` command as a process of its own, and looking at what it leaves behind."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIMIT_SECONDS = 240.0


class Command:
    """A running command with pipes for its input and output."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.output = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a piece may end within a character

    async def read_until(self, *texts: str) -> str:
        """Reads until one of some texts has come that was not read before; everything up to it."""
        assert self.process.stdout is not None
        start = len(self.output)
        async with asyncio.timeout(LIMIT_SECONDS):
            while not any(text in self.output[start:] for text in texts):
                chunk = await self.process.stdout.read(65536)
                if not chunk:
                    raise AssertionError(f"{texts} never came:\n{self.output}")
                self.output += self._decoder.decode(chunk)
        return self.output[start:]

    def type(self, line: str) -> None:
        """Types a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    async def finish(self) -> int:
        """Reads the rest of the output; the exit code."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT_SECONDS):
            self.output += self._decoder.decode(await self.process.stdout.read(), final=True)
            return await self.process.wait()

    def descendants(self) -> list[int]:
        """The processes that this command has started and that are still there, by id."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in (self.process.pid, os.getpid()):
                try:
                    if self._is_ours(entry):
                        found.append(int(entry.name))
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    continue  # it has just ended, or is somebody else's
        return found

    def running(self, module: str) -> list[int]:
        """Those of them that run a module, by id."""
        found = []
        for pid in self.descendants():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] == [b"-m", module.encode()]:
                    found.append(pid)
        return found

    def _is_ours(self, entry: Path) -> bool:
        """By the environment, which children inherit, or by the working directory where one writes over its own."""
        marked = f"TEST_MARKER={self.folder}".encode() in (entry / "environ").read_bytes().split(b"\0")
        return marked or (entry / "cwd").readlink().is_relative_to(self.folder)


def names_in(folder: Path) -> list[str]:
    """The names of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@asynccontextmanager
async def rami(*arguments: str, folder: Path, **environment: str) -> AsyncIterator[Command]:
    """Runs `rami` with `folder` for its temporary files, its state and its working directory; kills it at the end."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rami_cli", *arguments),
        env={
            **clean,
            "TMPDIR": str(folder),
            "XDG_STATE_HOME": str(folder),
            "TEST_MARKER": str(folder),
            "COLUMNS": "120",
            **environment,
        },
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    command = Command(process, folder)
    try:
        yield command
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
