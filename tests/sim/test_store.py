"""The simulated store agrees with a real server: on random commands, and on every script that runs execute."""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING, Any

import hiredis
import pytest

from rami_kit.resp import Address, pack_command
from sim.data import Data
from sim.lua import ScriptRunner
from sim.plan import Deed, plan_for
from sim.run import Run
from sim.values import CommandError, Status
from sim.world import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = [b"a", b"b", b"c"]
MEMBERS = [b"x", b"y", b"zz"]
NUMBERS = [b"0", b"1", b"2", b"-1", b"-2", b"7", b"nan?"]
COMMANDS: dict[bytes, list[list[bytes]]] = {
    b"GET": [KEYS],
    b"SET": [KEYS, MEMBERS],
    b"GETRANGE": [KEYS, NUMBERS, NUMBERS],
    b"EXISTS": [KEYS, KEYS],
    b"DEL": [KEYS, KEYS],
    b"TYPE": [KEYS],
    b"PEXPIRE": [KEYS, [b"1000000"]],
    b"HSET": [KEYS, MEMBERS, NUMBERS, MEMBERS, NUMBERS],
    b"HGET": [KEYS, MEMBERS],
    b"HMGET": [KEYS, MEMBERS, MEMBERS],
    b"HDEL": [KEYS, MEMBERS, MEMBERS],
    b"HINCRBY": [KEYS, MEMBERS, NUMBERS],
    b"LPUSH": [KEYS, MEMBERS, MEMBERS],
    b"LRANGE": [KEYS, NUMBERS, NUMBERS],
    b"LTRIM": [KEYS, NUMBERS, NUMBERS],
    b"ZADD": [KEYS, NUMBERS, MEMBERS, NUMBERS, MEMBERS],
    b"ZREM": [KEYS, MEMBERS],
    b"ZSCORE": [KEYS, MEMBERS],
    b"ZCARD": [KEYS],
    b"ZRANGE": [KEYS, NUMBERS, NUMBERS, [b"WITHSCORES"]],
    b"ZREVRANGE": [KEYS, NUMBERS, NUMBERS],
    b"ZRANGEBYSCORE": [KEYS, [b"-inf", b"0"], NUMBERS, [b"LIMIT"], [b"0", b"1"], [b"1", b"2"]],
    b"ZREMRANGEBYRANK": [KEYS, NUMBERS, NUMBERS],
    b"XADD": [KEYS, [b"1-0", b"2-0", b"5-1", b"9-0"], MEMBERS, MEMBERS],
    b"XRANGE": [KEYS, [b"-", b"2-0", b"(2-0"], [b"+", b"5-0"], [b"COUNT"], [b"1", b"5"]],
    b"XGROUP": [[b"CREATE"], KEYS, [b"g"], [b"0"]],
    b"XREADGROUP": [[b"GROUP"], [b"g"], [b"who"], [b"COUNT"], [b"1", b"3"], [b"STREAMS"], KEYS, [b">"]],
    b"XACK": [KEYS, [b"g"], [b"1-0", b"2-0"]],
    b"XAUTOCLAIM": [KEYS, [b"g"], [b"who"], [b"100000"], [b"0-0"], [b"COUNT"], [b"5"]],
}
"""Every command, and what may stand in each place of it."""
CONVERSIONS = b"""
return {1, 2.9, '3', true, false, {4, nil, 5}, redis.call('SET', 'k', 6), redis.call('GET', 'k'),
  redis.call('GET', 'no'),
  redis.call('SET', 'n', 1900000000400 + ARGV[1]), redis.call('GET', 'n'), redis.pcall('HGET', 'k', 'f').err ~= nil,
  redis.call('TYPE', 'k').ok, redis.call('HMGET', 'no', 'x', 'y')[1] == false}
"""


class Server:
    """A real server, whose replies are taken as they come."""

    def __init__(self, url: str) -> None:
        address = Address.parse(url)
        self._reader = hiredis.Reader(notEnoughData=...)
        self.socket = socket.create_connection((address.host, address.port))

    def ask(self, *command: bytes) -> Any:
        self.socket.sendall(pack_command(command))
        while (reply := self._reader.gets()) is ...:
            self._reader.feed(self.socket.recv(65536))
        return reply


@pytest.fixture
def server(store_url: str) -> Iterator[Server]:
    client = Server(store_url)
    with client.socket:
        yield client


def real(server: Server, *command: bytes) -> Any:
    reply = server.ask(*command)
    return _word(reply) if isinstance(reply, hiredis.ReplyError) else reply


def _word(error: Exception) -> str:
    """The word that an error begins with."""
    return str(error).partition(" ")[0]


def simulated(data: Data, *command: bytes) -> Any:
    try:
        reply = data.run(command[0], command[1:])
    except CommandError as error:
        return _word(error)
    return bytes(reply) if isinstance(reply, Status) else reply


@pytest.mark.parametrize("seed", range(4))
def test_random_commands_have_the_same_replies(server: Server, seed: int) -> None:
    chance, data = random.Random(seed), Data()
    data.now_us = round(EPOCH * 1e6)
    for step in range(2500):
        name = chance.choice(list(COMMANDS))
        command = [name, *(chance.choice(place) for place in COMMANDS[name])]
        ours, theirs = simulated(data, *command), real(server, *command)
        # Which of two errors is told first does not matter.
        assert ours == theirs or (isinstance(ours, str) and isinstance(theirs, str)), (step, command)
        if step % 50 == 49:
            key = chance.choice(KEYS)
            assert simulated(data, b"DEL", key) == real(server, b"DEL", key)


def test_values_pass_between_lua_and_the_store_alike(server: Server) -> None:
    reply = ScriptRunner().run(CONVERSIONS, [], [b"7"], Data())
    assert [bytes(part) if isinstance(part, Status) else part for part in reply] == real(
        server, b"EVAL", CONVERSIONS, b"0", b"7"
    )


@pytest.mark.parametrize("seed", [seed for seed in range(60) if seed % 4 == 0])
def test_the_scripts_of_a_run_have_the_same_replies(server: Server, seed: int) -> None:
    """The scripts see the clock of the run, in place of the server's own, which nobody can set."""
    plan = plan_for(seed)
    if plan.masters > 1 or any(fault.deed is Deed.FAIL_OVER for fault in plan.faults):
        return  # a real server cannot be set back in between
    run, executed = Run(plan, trace=False), []

    def remember(source: bytes, keys: list[bytes], args: list[bytes], reply: Any) -> None:
        executed.append((source, keys, args, reply, run.store.servers[0].data.now_us))

    run.on_script = remember
    assert not run.outcome().findings
    assert len(executed) > 10
    for source, keys, args, reply, now_us in executed:
        timed = source.replace(b"redis.call('TIME')", b"{'%d', '%d'}" % divmod(now_us, 1_000_000))
        timed = timed.replace(b"'*'", b"'%d-*'" % (now_us // 1000))
        theirs = real(server, b"EVAL", timed, b"%d" % len(keys), *keys, *args)
        assert theirs == reply, (source.partition(b"\n--")[2][:60], keys)
