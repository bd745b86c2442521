"""The embedded store as a supervised process: data, port and directory over its deaths."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from rami_cli import store_process
from rami_cli.child import ChildSpec
from rami_cli.supervisor import Patience, Supervisor
from rami_kit.embedded import claim_port
from support.waiting import eventually

QUICK = Patience(stop_seconds=60.0, first_pause_seconds=0.01, max_pause_seconds=0.05)


def store_spec(folder: Path, supervisor: Supervisor, **environment: str) -> ChildSpec:
    (folder / "store").mkdir()
    environment["RAMI_STORE_PORT"] = str(claim_port(supervisor))  # nobody else takes it while the store is dead
    command = (sys.executable, "-m", "rami_cli.store_process", str(folder / "store"))
    return ChildSpec("store", command, os.environ | environment, lambda ready: {"RAMI_STORE_PORT": str(ready["port"])})


def server_pid(folder: Path) -> int:
    return int((folder / "store" / "server.pid").read_text())


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def is_gone(pid: int) -> bool:
    try:
        return state_of(pid) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("victim", ["server", "process"])
async def test_a_killed_store_is_back_with_its_data_and_port(victim: str, tmp_path: Path) -> None:
    told: list[str] = []
    supervisor = Supervisor(tmp_path, patience=QUICK, tell=told.append)
    try:
        ready = await supervisor.start(store_spec(tmp_path, supervisor))
        server = server_pid(tmp_path)
        with redis.Redis.from_url(ready["url"]) as client:
            client.set("kept", "yes")
        process = supervisor.pids()["store"]
        assert process is not None
        os.kill(server if victim == "server" else process, signal.SIGKILL)
        await eventually(lambda: "store is back" in told, "the store is back")
        assert server_pid(tmp_path) != server
        await eventually(lambda: is_gone(server), "the server of before is gone")
        with redis.Redis.from_url(ready["url"]) as client:
            assert client.get("kept") == b"yes"
        server = server_pid(tmp_path)
    finally:
        await supervisor.stop()
    assert is_gone(server)


async def test_a_store_whose_server_is_only_stopped_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    supervisor = Supervisor(tmp_path, patience=QUICK, tell=told.append)
    try:
        ready = await supervisor.start(store_spec(tmp_path, supervisor))
        server = server_pid(tmp_path)
        os.kill(server, signal.SIGSTOP)  # of which its parent hears, as of its death
        await eventually(lambda: state_of(server) == "T", "the server stands still")
        os.kill(server, signal.SIGCONT)
        with redis.Redis.from_url(ready["url"]) as client:
            client.ping()
        os.kill(server, signal.SIGKILL)
        await eventually(lambda: "store is back" in told, "the store is back")
        assert told[0] == "store ended with exit code 1; starting it again", "it ended for the death of its server"
    finally:
        await supervisor.stop()


@pytest.mark.parametrize(("durability", "synced"), [("memory", "everysec"), ("fsync", "always")])
async def test_the_store_keeps_what_the_durability_promises(durability: str, synced: str, tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, patience=QUICK)
    try:
        ready = await supervisor.start(store_spec(tmp_path, supervisor, RAMI_DURABILITY=durability))
        with redis.Redis.from_url(ready["url"]) as client:
            assert client.config_get("appendonly", "appendfsync") == {"appendonly": "yes", "appendfsync": synced}
    finally:
        await supervisor.stop()


async def test_an_orphan_removes_what_its_parent_left(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "store").mkdir(parents=True)
    script = (
        "import os, subprocess, sys\n"
        "command = [sys.executable, '-m', 'rami_cli.store_process', *sys.argv[1:2]]\n"
        "command += ['--orphan-of', str(os.getpid()), sys.argv[2]]\n"
        "child = subprocess.Popen(command, stdout=subprocess.PIPE)\n"
        "print(child.stdout.readline().decode(), child.pid, flush=True)\n"
        "child.wait()\n"
    )
    arguments = (str(folder / "store"), str(folder))
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    await parent.stdout.readline()
    child = int(await parent.stdout.readline())
    server = server_pid(folder)
    parent.kill()
    await parent.wait()

    def ends_however_often_it_is_told_to() -> bool:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
        return is_gone(child) and is_gone(server)

    # As the system does it: once for each thread of a killed parent, until the last of them has ended.
    await eventually(ends_however_often_it_is_told_to, "the store ends", every_seconds=0.0)
    assert not folder.exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells children of a thread's death")
def test_a_process_whose_first_thread_has_ended_is_dead_while_others_are_still_there() -> None:
    script = (
        "import ctypes, os, sys, threading\n"
        "def tell_the_end():\n"
        "    while open('/proc/self/stat').read().rpartition(')')[2].split()[0] != 'Z':\n"
        "        pass\n"
        "    os.write(1, b'over')\n"
        "    sys.stdin.buffer.read()\n"
        "    os._exit(0)\n"
        "threading.Thread(target=tell_the_end).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"over"
        assert process.poll() is None
        assert store_process.is_dead(process.pid)
        assert not store_process.is_dead(os.getpid())
    assert store_process.is_dead(process.pid)


def test_only_the_own_server_is_taken_for_a_leftover(tmp_path: Path) -> None:
    (tmp_path / "server.pid").write_text(str(os.getpid()))
    store_process.end_leftover(tmp_path)  # this process works elsewhere: it lives on
    (tmp_path / "server.pid").write_text("no number")
    store_process.end_leftover(tmp_path)
    (tmp_path / "server.pid").unlink()
    store_process.end_leftover(tmp_path)
