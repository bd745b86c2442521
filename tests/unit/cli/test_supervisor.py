"""The supervisor with small programs for services: ready lines, deaths, restarts, order, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rami_cli.child import Child, ChildDiedError, ChildSpec, last_lines
from rami_cli.supervisor import Patience, Supervisor
from rami_kit.embedded import claim_port
from support import child_program
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PROGRAM = str(Path(child_program.__file__))
QUICK = Patience(stop_seconds=60.0, first_pause_seconds=0.01, max_pause_seconds=0.05)


class Programs:
    """Makes the specs of one test, and reads what their programs wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "happened"

    def spec(self, name: str, *arguments: str) -> ChildSpec:
        command = (sys.executable, PROGRAM, str(self.log), "--name", name, *arguments)
        # Nobody else may take the port while the program is dead.
        environment = os.environ | {"CHILD_PORT": str(claim_port(self))}
        return ChildSpec(name, command, environment, lambda ready: {"CHILD_PORT": str(ready["port"])})

    def happened(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def pids(self) -> list[int]:
        """Of every process that was started, in order."""
        return [int(line.split()[-1]) for line in self.happened() if line.split()[-1].isdigit()]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@asynccontextmanager
async def supervising(folder: Path, patience: Patience = QUICK) -> AsyncIterator[tuple[Supervisor, list[str]]]:
    told: list[str] = []
    supervisor = Supervisor(folder, patience=patience, tell=told.append)
    try:
        yield supervisor, told
    finally:
        await supervisor.stop()


def is_gone(pid: int) -> bool:
    """No process has the id; one that has ended and waits to be read does not count."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


async def test_a_child_is_ready_when_it_says_so(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, _):
        ready = await supervisor.start(programs.spec("game"))
        assert ready["service"] == "game"
        assert supervisor.pids() == {"game": programs.pids()[0]}
        log = (tmp_path / "game.log").read_text()
        assert "a line of game on standard output" in log
        assert "game complains" in log
        assert '"port"' not in log


async def test_children_stop_in_reverse_order_and_leave_nothing(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, _):
        for name in ("store", "ai", "game", "matchmaking"):
            await supervisor.start(programs.spec(name))
    ends = [line for line in programs.happened() if line.endswith("term")]
    assert ends == ["matchmaking term", "game term", "ai term", "store term"]
    assert all(is_gone(pid) for pid in programs.pids())
    assert len(programs.pids()) == 4


async def test_a_child_that_dies_is_back_on_its_port(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, told):
        ready = await supervisor.start(programs.spec("game"))
        for deaths in range(1, 4):
            os.kill(programs.pids()[-1], signal.SIGKILL)
            await eventually(lambda deaths=deaths: len(told) == 2 * deaths, "the child is back")  # type: ignore[misc]
        assert told[:2] == ["game ended with exit code -9; starting it again", "game is back"]
        assert len(set(programs.pids())) == 4
        _, writer = await asyncio.open_connection("127.0.0.1", ready["port"])
        writer.close()
        await writer.wait_closed()


async def test_what_a_dead_child_leaves_behind_ends_with_it(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, told):
        await supervisor.start(programs.spec("ai", "--grandchild"))
        front, grandchild = programs.pids()
        os.kill(front, signal.SIGKILL)
        await eventually(lambda: is_gone(grandchild), "the grandchild is gone")
        await eventually(lambda: "ai is back" in told, "the child is back")
    await eventually(lambda: all(is_gone(pid) for pid in programs.pids()), "every process is gone")


async def test_a_kill_returns_when_the_child_is_back(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, told):
        await supervisor.start(programs.spec("ai", "--grandchild"))
        front, grandchild = programs.pids()
        await supervisor.kill("ai")
        assert told == ["ai ended with exit code -9; starting it again", "ai is back"]
        assert is_gone(front)
        await eventually(lambda: is_gone(grandchild), "the grandchild is gone")
        with pytest.raises(KeyError):
            await supervisor.kill("nobody")


async def test_a_kill_of_what_cannot_come_back_is_told(programs: Programs, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.touch()
    async with supervising(tmp_path) as (supervisor, _):
        await supervisor.start(programs.spec("game", "--exit-unless", str(allowed)))
        allowed.unlink()
        with pytest.raises(ChildDiedError):
            await supervisor.kill("game")


async def test_a_child_that_cannot_start_ends_it_all_with_its_log(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, _):
        with pytest.raises(ChildDiedError) as caught:
            await supervisor.start(programs.spec("game", "--exit-at-once", "3"))
        assert len(programs.pids()) == QUICK.attempts
        assert "game ended with exit code 3 before it was ready" in str(caught.value)
        assert "ERROR game complains" in str(caught.value)


async def test_wrong_settings_are_not_tried_again(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, _):
        with pytest.raises(ChildDiedError, match="exit code 2"):
            await supervisor.start(programs.spec("game", "--exit-at-once", "2"))
        assert len(programs.pids()) == 1


async def test_a_child_that_dies_and_cannot_come_back_is_told(programs: Programs, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.touch()
    async with supervising(tmp_path) as (supervisor, _):
        await supervisor.start(programs.spec("ai"))
        await supervisor.start(programs.spec("game", "--exit-unless", str(allowed)))
        allowed.unlink()
        os.kill(programs.pids()[-1], signal.SIGKILL)
        with pytest.raises(ChildDiedError, match="game ended with exit code 1 before it was ready"):
            await supervisor.failed()
        assert len(programs.pids()) == 2 + QUICK.attempts
    assert all(is_gone(pid) for pid in programs.pids())


async def test_a_child_that_never_gets_ready_is_given_up(programs: Programs, tmp_path: Path) -> None:
    patience = Patience(start_seconds=0.5, attempts=2, first_pause_seconds=0.01)
    async with supervising(tmp_path, patience) as (supervisor, _):
        with pytest.raises(ChildDiedError, match=r"did not get ready in 0\.5 s"):
            await supervisor.start(programs.spec("game", "--never-ready"))
    assert all(is_gone(pid) for pid in programs.pids())


async def test_a_child_that_ignores_the_signal_is_killed(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    async with supervising(tmp_path, Patience(stop_seconds=60.0)) as (supervisor, _):
        await supervisor.start(programs.spec("game", "--ignore-term", "--grandchild"))
        stopping = asyncio.create_task(supervisor.stop())
        await eventually(lambda: "game term" in programs.happened(), "the child has had the signal")
        assert not any(is_gone(pid) for pid in programs.pids())
        assert not stopping.done()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + 61)
        await stopping
    await eventually(lambda: all(is_gone(pid) for pid in programs.pids()), "both processes are gone")


async def test_stopping_while_a_child_starts_leaves_nothing(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, _):
        starting = asyncio.create_task(supervisor.start(programs.spec("game", "--never-ready")))
        await eventually(lambda: bool(programs.pids()), "the child runs")
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert all(is_gone(pid) for pid in programs.pids())


async def test_stopping_while_a_dead_child_is_still_read_leaves_nothing(programs: Programs, tmp_path: Path) -> None:
    async with supervising(tmp_path) as (supervisor, _):
        await supervisor.start(programs.spec("store"))
        await supervisor.start(programs.spec("game", "--outsider"))
        _, game, outsider = programs.pids()  # which holds the pipe that the child has said things through
        try:
            os.kill(game, signal.SIGKILL)
            await eventually(lambda: supervisor.pids()["game"] is None, "the end of the child is known")
            stopping = asyncio.create_task(supervisor.stop())
            for _ in range(20):
                await asyncio.sleep(0)
            assert not stopping.done()
        finally:
            os.kill(outsider, signal.SIGKILL)
        await stopping
        assert supervisor.pids() == {}
    assert programs.happened()[-1] == "store term"
    await eventually(lambda: all(is_gone(pid) for pid in programs.pids()), "every process is gone")


async def test_the_leash_of_other_platforms_stops_and_hands_signals_on(programs: Programs, tmp_path: Path) -> None:
    child = Child(programs.spec("game"), tmp_path / "game.log", watched=True)
    await child.start(60.0)
    (pid,) = programs.pids()
    assert child.pid not in (None, pid)
    await child.stop(60.0)
    assert programs.happened()[-1] == "game term"
    assert is_gone(pid)


SUPERVISOR_THAT_IS_KILLED = """
import asyncio, os, sys
from pathlib import Path
from rami_cli.child import Child, ChildSpec

async def run(program, log, folder, watched):
    command = (sys.executable, program, log, "--name", "game")
    child = Child(ChildSpec("game", command, dict(os.environ)), Path(folder) / "game.log", watched=watched)
    await child.start(60.0)
    print("running", flush=True)
    await asyncio.Event().wait()

asyncio.run(run(*sys.argv[1:4], sys.argv[4] == "watched"))
"""


@pytest.mark.parametrize("leash", ["kernel", "watched"])
async def test_children_end_with_a_supervisor_that_is_killed(programs: Programs, tmp_path: Path, leash: str) -> None:
    supervisor = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SUPERVISOR_THAT_IS_KILLED, PROGRAM, str(programs.log), str(tmp_path), leash),
        stdout=asyncio.subprocess.PIPE,
    )
    assert supervisor.stdout is not None
    assert await supervisor.stdout.readline() == b"running\n"
    (pid,) = programs.pids()
    supervisor.kill()
    await supervisor.wait()
    await eventually(lambda: is_gone(pid), "the child is gone")
    assert programs.happened()[-1] == "game term"


def test_the_end_of_a_log_is_shortened(tmp_path: Path) -> None:
    log = tmp_path / "game.log"
    assert last_lines(log) == []
    log.write_text("\n".join(f"line {number}" for number in range(100)) + "\n" + "x" * 1000 + "\n")
    lines = last_lines(log)
    assert len(lines) == 8
    assert lines[0] == "line 93"
    assert lines[-1] == "x" * 300


def test_pauses_grow_up_to_a_limit() -> None:
    patience = Patience(first_pause_seconds=0.2, max_pause_seconds=5.0)
    assert [patience.pause_seconds(deaths) for deaths in (1, 2, 3, 6, 1000)] == [0.2, 0.4, 0.8, 5.0, 5.0]
