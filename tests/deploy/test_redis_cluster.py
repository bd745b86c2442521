"""The script that runs the nodes of the Redis Cluster on Kubernetes, with real servers: a cluster forms itself, and
loses nothing when nodes are replaced, lose their disks, or all come again under other addresses.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import redis

from support.deploy_redis_cluster import OTHER_PASSWORD, PASSWORD, SCRIPT, TOOLS, RedisSite, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = [f"{{p{number}}}:room" for number in range(64)]

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason="needs the Debian package redis-server"
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RedisSite]:
    site = RedisSite(tmp_path)
    try:
        yield site
    finally:
        site.close()


def write(site: RedisSite) -> None:
    with site.client() as client:
        for key in KEYS:
            client.set(key, f"of {key}", px=3_600_000)


def read(site: RedisSite) -> bool:
    with site.client() as client:
        return all(client.get(key) == f"of {key}" and client.pttl(key) > 0 for key in KEYS)


@pytest.mark.timeout(600)
def test_a_cluster_forms_itself_and_outlives_its_nodes(site: RedisSite) -> None:
    nodes = site.nodes
    nodes[1].start()
    until(site, lambda: bool(nodes[1].client.ping()), "a node answers")
    assert nodes[1].script("ready").returncode != 0, "there is no cluster yet"
    for node in nodes:
        if node is not nodes[1]:
            node.start()
    until(site, site.whole, "six nodes are a cluster")
    assert [node.leads() for node in nodes] == [True] * 3 + [False] * 3
    write(site)
    with redis.Redis(nodes[0].address, site.port, password=OTHER_PASSWORD) as client:
        assert client.ping(), "a password that is to follow is good already"

    check_that_a_replica_may_come_again_at_once_without_its_disk(site)
    check_that_a_master_leaves_without_a_gap(site)
    check_that_a_node_without_its_disk_becomes_a_replica(site)
    check_that_all_come_again_elsewhere(site)
    check_that_a_backup_brings_everything_back(site)
    check_that_slots_of_two_lost_disks_get_a_new_master(site)


def check_that_a_replica_may_come_again_at_once_without_its_disk(site: RedisSite) -> None:
    """Nobody has missed it when another node answers at its address: that must not leave what it was behind."""
    node = site.nodes[3]
    before = next(line[0] for line in node.lines() if "myself" in line[2])
    node.kill()
    node.lose_disk()
    node.start()
    until(site, site.whole, "the new node follows, and the old one is forgotten")
    assert not any(line[0] == before for other in site.nodes for line in other.lines())
    assert not node.leads()


def check_that_a_master_leaves_without_a_gap(site: RedisSite) -> None:
    """A rollout: the replica leads before the master ends, and what was master comes again as a replica."""
    node = site.nodes[0]
    node.end()
    successors = [other for other in site.nodes[3:] if other.leads()]
    assert len(successors) == 1, "a replica was master before the node had ended"
    node.start()
    until(site, site.whole, "the node is back")
    assert not node.leads()
    assert read(site)


def check_that_a_node_without_its_disk_becomes_a_replica(site: RedisSite) -> None:
    """A machine is lost with all that it had: a failover, then a node of the same name that takes the empty place."""
    node = site.nodes[1]
    before = next(line[0] for line in node.lines() if "myself" in line[2])
    node.kill()
    node.lose_disk()
    until(site, lambda: sum(other.leads() for other in site.nodes if other is not node) == 3, "a replica took over")
    node.start()
    until(site, site.whole, "the new node has taken its place, and the old one is forgotten")
    assert not any(line[0] == before for other in site.nodes for line in other.lines())
    assert not node.leads()
    assert read(site)


def check_that_all_come_again_elsewhere(site: RedisSite) -> None:
    for node in site.nodes:
        node.kill()
    site.move()
    site.start()
    until(site, site.whole, "all nodes find each other under their new addresses")
    assert read(site)


def check_that_a_backup_brings_everything_back(site: RedisSite) -> None:
    """Snapshots of all replicas, put into the cluster when it is empty."""
    backups = [node.script("backup") for node in site.nodes if node.script("cli", "role").stdout.startswith(b"slave")]
    assert len(backups) == 3
    assert {backup.returncode for backup in backups} == {0}
    with site.client() as client:
        client.flushall(target_nodes="primaries")
        assert client.get(KEYS[0]) is None
    for backup in backups:
        restored = site.nodes[0].script("restore", given=backup.stdout)
        assert restored.returncode == 0, restored.stdout + restored.stderr
    assert read(site)
    assert not (site.nodes[0].data / "restore").exists()
    damaged = site.nodes[0].script("restore", given=b"this is no snapshot")
    assert damaged.returncode != 0
    assert not (site.nodes[0].data / "restore").exists()


def check_that_slots_of_two_lost_disks_get_a_new_master(site: RedisSite) -> None:
    """A master and its replica are gone for good: their rooms are lost, others are not; slots are covered again."""
    master = next(node for node in site.nodes if node.leads())
    own = next(line for line in master.lines() if "myself" in line[2])
    follower = next(line for line in master.lines() if line[3] == own[0])
    lost = [master, next(node for node in site.nodes if f"{node.address}:" in follower[1])]
    others = [node for node in site.nodes if node not in lost]
    for node in lost:
        node.kill()
        node.lose_disk()
    until(site, lambda: b"cluster_slots_fail:0" not in others[0].script("cli", "cluster", "info").stdout, "it is seen")
    for node in lost:
        node.start()
    until(site, lambda: any("master" in line[2] for line in lost[0].lines() if len(line) == 8), "one waits for slots")
    assert others[0].script("adopt").returncode == 1, "it has slots, or follows who has"
    until(site, lambda: lost[0].script("adopt").returncode == 0, "it knows all others, and takes what nobody has")
    until(site, site.whole, "all slots are served, by a master with a replica")
    assert lost[0].leads()
    with site.client() as client:
        kept = [key for key in KEYS if client.get(key) == f"of {key}"]
    assert 0 < len(kept) < len(KEYS)


CLI = """#!/bin/sh
case "$*" in
  *INFO) echo "cluster_slots_assigned:$ASSIGNED" ;;
  *NODES) cat "$TABLE" ;;
  *ROLE) echo "$ROLE" ;;
  *DBSIZE) echo "$KEYS" ;;
  *REPLICATE*) echo "$*" | sed 's/.*REPLICATE //' >> "$TABLE.follows" ;;
esac
"""
A, B, C = (
    f"{name} 10.0.0.1:6379@16379 master - 0 0 1 connected {slots}" for name, slots in zip("abc", "123", strict=True)
)
FRESH = "m 10.0.0.9:6379@16379 myself,master - 0 0 0 connected"


def replica(name: str, of: str, flags: str = "slave") -> str:
    return f"{name} 10.0.0.2:6379@16379 {flags} {of} 0 0 1 connected"


def empty(name: str) -> str:
    return f"{name} 10.0.0.3:6379@16379 master - 0 0 0 connected"


@pytest.mark.parametrize(
    ("nodes", "told", "follows"),
    [
        ([A, B, C, FRESH, replica("r", "a"), replica("s", "c")], {}, "b"),
        ([A, B, C, FRESH], {"NODE_NAME": "n-4"}, "b"),
        ([A, B, C, FRESH, replica("r", "a"), replica("s", "c"), replica("t", "b", "slave,fail")], {}, "b"),
        ([A, B, C, FRESH], {"KEYS": "5"}, None),
        ([A, B, C, FRESH], {"ASSIGNED": "9000"}, None),
        ([A, B, C, FRESH, replica("r", "a")], {"MASTERS": "4"}, None),
        ([A, B, C, FRESH, empty("l"), replica("r", "a"), replica("s", "b")], {"MASTERS": "4", "NODE_NAME": "n-1"}, "l"),
        ([A, B, C, FRESH, empty("n")], {"MASTERS": "4"}, None),
        ([A, B, C, FRESH, empty("l")], {}, "a"),
        ([A, B, C, replica("m", "a", "myself,slave")], {"ROLE": "slave"}, None),
        ([A, B, C, replica("m", "a", "myself,slave"), replica("k", "a"), replica("s", "b")], {"ROLE": "slave"}, "c"),
        ([A, B, C, replica("m", "a", "myself,slave"), replica("q", "a"), replica("s", "b")], {"ROLE": "slave"}, None),
        ([A, B, C, replica("m", "s", "myself,slave"), replica("s", "b"), replica("t", "c")], {"ROLE": "slave"}, "a"),
        ([B, C, "m 10.0.0.9:6379@16379 myself,master - 0 0 0 connected 1"], {}, None),
    ],
)
def test_a_node_follows_who_needs_it(
    nodes: list[str], told: dict[str, str], follows: str | None, tmp_path: Path
) -> None:
    cli = tmp_path / "redis-cli"
    cli.write_text(CLI)
    cli.chmod(0o755)
    table = tmp_path / "table"
    table.write_text("\n".join(nodes) + "\n")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "TABLE": str(table), "ASSIGNED": "16384", "KEYS": "0"}
    environment |= {"NODE_NAME": "n-0", "NODE_ADDRESS": "10.0.0.9", "PEERS": "a:1", "REDISCLI_AUTH": PASSWORD}
    environment |= {"ROLE": "master"} | told
    subprocess.run([SCRIPT, "follow"], env=environment, capture_output=True, timeout=60, check=True)
    asked = tmp_path / "table.follows"
    assert (asked.read_text().strip() if asked.exists() else None) == follows


def test_a_node_says_what_it_lacks() -> None:
    for arguments, code in (([], 2), (["start"], 2), (["nonsense"], 2)):
        environment = {"PATH": "/usr/bin:/bin"}
        if "start" not in arguments:
            environment |= {"NODE_NAME": "n-0", "NODE_ADDRESS": "127.0.0.1", "PEERS": "a:1", "REDISCLI_AUTH": PASSWORD}
        result = subprocess.run(
            [SCRIPT, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert result.returncode == code
        assert "NODE_NAME" in result.stderr if "start" in arguments else "node.sh start" in result.stderr
