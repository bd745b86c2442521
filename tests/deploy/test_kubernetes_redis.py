"""Production with a Redis Cluster of its own: its resources agree with each other, with the script that runs the nodes,
and with what the services are told.
"""

from __future__ import annotations

import re

import pytest

from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from rami_kit.settings import Durability, load_settings
from rami_kit.store_url import StoreUrl, Topology
from support.deploy_manifests import Manifests, Resource, container, needs_kubectl, pod, ports, render
from support.deploy_redis_cluster import SCRIPT

NODES = "redis-cluster"
SIZES = {"mb": 10**6, "gb": 10**9, "Mi": 2**20, "Gi": 2**30}

pytestmark = needs_kubectl


@pytest.fixture(scope="module")
def manifests() -> Manifests:
    return render("prod-redis")


@pytest.fixture(scope="module")
def nodes(manifests: Manifests) -> Resource:
    return manifests.get("StatefulSet", NODES)


def told(nodes: Resource) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(nodes)["env"] if "value" in each}


def size(text: str) -> int:
    number, unit = text[:-2], text[-2:]
    return int(number) * SIZES[unit]


def places(manifests: Manifests, nodes: Resource) -> list[tuple[str, int]]:
    """Where the pods of the StatefulSet are, by the name of its service."""
    service = manifests.get("Service", nodes["spec"]["serviceName"])
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"], "nodes have to find each other before they are ready"
    name, count = nodes["metadata"]["name"], nodes["spec"]["replicas"]
    return [(f"{name}-{number}.{service['metadata']['name']}", ports(nodes)["redis"]) for number in range(count)]


def test_nodes_know_each_other_by_the_names_of_their_pods(manifests: Manifests, nodes: Resource) -> None:
    peers = [tuple(peer.split(":")) for peer in told(nodes)["PEERS"].split()]
    assert [(host, int(port)) for host, port in peers] == places(manifests, nodes)
    assert nodes["spec"]["replicas"] == 2 * int(told(nodes)["MASTERS"]) == 6
    assert nodes["spec"]["podManagementPolicy"] == "Parallel", "a cluster is formed when all are there"
    assert ports(nodes)["bus"] == ports(nodes)["redis"] + 10_000
    sources = {each["name"]: each["valueFrom"] for each in container(nodes)["env"] if "valueFrom" in each}
    assert sources["NODE_NAME"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert sources["NODE_ADDRESS"]["fieldRef"]["fieldPath"] == "status.podIP"


def test_services_are_pointed_at_it(manifests: Manifests, nodes: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMI_JWT_SECRET", "p" * 32)
    monkeypatch.setenv("RAMI_SERVICE_SECRET", "s" * 32)
    for name, settings in (("rami-game", GameSettings), ("rami-matchmaking", MatchmakingSettings)):
        with monkeypatch.context() as patch:
            for variable, value in manifests.environment(name).items():
                patch.setenv(variable, value)
            loaded = load_settings(settings)
        assert loaded.redis_url is not None
        store = StoreUrl.parse(loaded.redis_url.get_secret_value())
        assert store.topology is Topology.CLUSTER
        assert [(each.host, each.port) for each in store.addresses] == places(manifests, nodes)
        assert {each.password for each in store.addresses} == {"secret"}
        assert loaded.partitions == 256
        assert loaded.durability is Durability.FSYNC
        assert manifests.secrets(name) == {"rami-keys", "rami-redis"}
    assert manifests.secrets(NODES) == {"rami-redis"}


def test_the_password_is_known_before_it_is_used(manifests: Manifests) -> None:
    """A variable is put into another only if it stands before it."""
    for name in ("rami-game", "rami-matchmaking"):
        names = [each["name"] for each in container(manifests.workloads[name])["env"]]
        assert names.index("REDIS_PASSWORD") < names.index("RAMI_REDIS_URL")


def test_only_services_and_nodes_reach_it(manifests: Manifests) -> None:
    assert manifests.callers(NODES, "redis") == {"rami-game", "rami-matchmaking", NODES}
    assert manifests.callers(NODES, "bus") == {NODES}
    assert manifests.reached(NODES) == {(NODES, 6379), (NODES, 16379)}
    for name in ("rami-game", "rami-matchmaking"):
        assert {port for _, port in manifests.reached(name) if port == 6379} == {6379}
        assert not [place for place, _ in manifests.reached(name) if "/" in place], "no way out of the cluster"


def test_the_script_is_what_runs_and_keeps_what_it_is_asked_for(manifests: Manifests, nodes: Resource) -> None:
    (volume,) = [each for each in pod(nodes)["volumes"] if "configMap" in each]
    assert volume["configMap"]["defaultMode"] == 0o555
    assert manifests.get("ConfigMap", volume["configMap"]["name"])["data"] == {SCRIPT.name: SCRIPT.read_text()}
    (mount,) = [each for each in container(nodes)["volumeMounts"] if each["name"] == volume["name"]]
    path = f"{mount['mountPath']}/{SCRIPT.name}"
    only = container(nodes)
    asked = {
        tuple(command)
        for command in (
            only["command"],
            only["lifecycle"]["preStop"]["exec"]["command"],
            only["readinessProbe"]["exec"]["command"],
            only["livenessProbe"]["exec"]["command"],
        )
    }
    assert asked == {(path, "start"), (path, "leave"), (path, "ready"), (path, "cli", "ping")}
    text = SCRIPT.read_text()
    assert "--appendonly yes" in text
    assert "--maxmemory-policy noeviction" in text
    known = set(re.findall(r"\b[A-Z][A-Z_]+\b", text))
    assert {each["name"] for each in only["env"]} <= known
    assert size(told(nodes)["MAXMEMORY"]) < size(only["resources"]["requests"]["memory"])
    assert nodes["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] == "data"
    (data,) = [each for each in only["volumeMounts"] if each["name"] == "data"]
    assert data["mountPath"] == "/data"
    assert "${DATA:-/data}" in text
