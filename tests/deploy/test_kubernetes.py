"""Every overlay is rendered, valid by the current schemas, and agrees with itself and with the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml

from ai_decision.config import AiSettings
from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from monitoring.files import DEPLOY, rule_groups
from monitoring.recording import OBJECTIVE_RULES, SERVICE_RULES
from rami.ai.v1 import decision_service_pb2
from rami.game.v1 import game_service_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2
from rami_cli.edge_settings import EdgeSettings
from rami_kit.app import FORCED_SECONDS
from rami_kit.health import LIVENESS
from rami_kit.settings import ServiceSettings, load_settings
from support.deploy_manifests import (
    OVERLAYS,
    Manifests,
    container,
    matches,
    needs_kubectl,
    pod,
    pod_labels,
    ports,
    render,
)

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

SETTINGS: dict[str, type[ServiceSettings]] = {
    "rami-game": GameSettings,
    "rami-ai": AiSettings,
    "rami-matchmaking": MatchmakingSettings,
}
MODULES = {"rami-game": "game_state", "rami-ai": "ai_decision", "rami-matchmaking": "matchmaking"}
SERVED = {
    "rami-game": game_service_pb2.DESCRIPTOR,
    "rami-ai": decision_service_pb2.DESCRIPTOR,
    "rami-matchmaking": matchmaking_service_pb2.DESCRIPTOR,
}
OURS = {*SETTINGS, "rami-edge"}
CUSTOM = {"PrometheusRule", "ServiceMonitor", "ScaledObject"}
"""Kinds that Prometheus' operator and KEDA bring: no schema of Kubernetes knows them."""
NAMES = sorted(path.name for path in OVERLAYS.iterdir())

pytestmark = needs_kubectl


@pytest.fixture(scope="module", params=NAMES)
def manifests(request: pytest.FixtureRequest) -> Manifests:
    return render(request.param)


def variables(settings: type[BaseSettings]) -> set[str]:
    prefix = settings.model_config["env_prefix"]
    return {f"{prefix}{name}".upper() for name in settings.model_fields}


def test_there_are_overlays() -> None:
    assert NAMES == ["dev", "prod", "prod-redis"]


def test_resources_are_valid(manifests: Manifests) -> None:
    version = kubernetes_validate.latest_version()
    assert tuple(map(int, version.split(".")[:2])) >= (1, 33)
    for resource in manifests.all:
        if resource["kind"] not in CUSTOM:
            kubernetes_validate.validate(resource, version, strict=True)


def test_what_is_wrong_is_not_valid(manifests: Manifests) -> None:
    wrong = manifests.get("Deployment", "rami-game") | {"spec": {"replicas": "two"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


def test_everything_is_in_one_namespace(manifests: Manifests) -> None:
    (namespace,) = manifests.names("Namespace")
    spaces = {each["metadata"].get("namespace") for each in manifests.all if each["kind"] != "Namespace"}
    assert spaces == {namespace}
    assert "rami" not in manifests.names("Service"), "its variables would be taken for settings"


def test_selectors_choose_what_they_mean(manifests: Manifests) -> None:
    for name, workload in manifests.workloads.items():
        assert matches(workload["spec"]["selector"], pod_labels(workload))
        assert manifests.chosen(workload["spec"]["selector"]) == {name}
        for constraint in pod(workload).get("topologySpreadConstraints", []):
            assert manifests.chosen(constraint["labelSelector"]) == {name}
    for budget in manifests.every("PodDisruptionBudget"):
        assert manifests.chosen(budget["spec"]["selector"]) == {budget["metadata"]["name"]}
    assert manifests.names("PodDisruptionBudget") == OURS | ({"redis-cluster"} & manifests.workloads.keys())
    for service in manifests.every("Service"):
        (name,) = manifests.chosen({"matchLabels": service["spec"]["selector"]})
        known = ports(manifests.workloads[name])
        for port in service["spec"]["ports"]:
            assert port["targetPort"] in known
            assert port["port"] == known[port["targetPort"]] or service["metadata"]["name"] == "edge"


def test_ports_are_those_of_the_code(manifests: Manifests) -> None:
    for name, settings in SETTINGS.items():
        fields = settings.model_fields
        told = ports(manifests.workloads[name])
        assert told == {"grpc": fields["port"].default, "metrics": fields["metrics_port"].default}
    edge = EdgeSettings.model_fields
    told = ports(manifests.workloads["rami-edge"])
    assert told == {"edge": edge["port"].default, "metrics": edge["metrics_port"].default}


def test_settings_exist_and_are_accepted(manifests: Manifests, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, settings in SETTINGS.items():
        told = manifests.environment(name)
        assert told.keys() <= variables(settings), name
        with monkeypatch.context() as patch:
            for variable, value in told.items():
                patch.setenv(variable, value)
            patch.setenv("RAMI_JWT_SECRET", "p" * 32)
            patch.setenv("RAMI_SERVICE_SECRET", "s" * 32)
            if "rami-store" in manifests.secrets(name):
                patch.setenv("RAMI_REDIS_URL", "redis://redis:6379/0")
            loaded = load_settings(settings)
        assert (loaded.port, loaded.metrics_port) == tuple(
            ports(manifests.workloads[name])[x] for x in ("grpc", "metrics")
        )
    told = manifests.environment("rami-edge")
    assert told.keys() <= variables(EdgeSettings)
    with monkeypatch.context() as patch:
        for variable, value in told.items():
            patch.setenv(variable, value)
        EdgeSettings()


def test_services_find_each_other(manifests: Manifests) -> None:
    told, edge = manifests.environment("rami-game"), manifests.environment("rami-edge")
    for address, workload in (
        (told["RAMI_GAME_ADDRESS"], "rami-game"),
        (told["RAMI_AI_ADDRESS"], "rami-ai"),
        (edge["RAMI_EDGE_MATCHMAKING_ADDRESSES"], "rami-matchmaking"),
    ):
        name, _, port = address.removeprefix("dns:///").partition(":")
        service = manifests.get("Service", name)
        assert service["spec"]["clusterIP"] == "None", "a balanced name has an address for each pod"
        assert not service["spec"].get("publishNotReadyAddresses")
        assert manifests.chosen({"matchLabels": service["spec"]["selector"]}) == {workload}
        assert ports(manifests.workloads[workload])["grpc"] == int(port)
    assert edge["RAMI_EDGE_GAME_ADDRESSES"] == told["RAMI_GAME_ADDRESS"].removeprefix("dns:///")


def test_probes_ask_what_exists(manifests: Manifests) -> None:
    for name in SETTINGS:
        only = container(manifests.workloads[name])
        told = ports(manifests.workloads[name])
        asked = only["readinessProbe"]["grpc"]
        assert asked["port"] == told["grpc"]
        package, _, service = asked["service"].rpartition(".")
        assert package == SERVED[name].package
        assert service in SERVED[name].services_by_name
        for probe in ("livenessProbe", "startupProbe"):
            # Not the service's own health: one whose store is away must not be ended for it.
            assert only[probe]["grpc"] == {"port": told["grpc"], "service": LIVENESS}


def test_a_drain_has_the_time_it_needs(manifests: Manifests) -> None:
    for name in SETTINGS:
        workload = manifests.workloads[name]
        _, pause = container(workload)["lifecycle"]["preStop"]["exec"]["command"]
        drain = float(manifests.environment(name)["RAMI_DRAIN_GRACE_SECONDS"])
        assert pod(workload)["terminationGracePeriodSeconds"] >= int(pause) + drain + FORCED_SECONDS + 5
    edge = manifests.environment("rami-edge").get("RAMI_EDGE_DRAIN_SECONDS")
    assert edge is None or float(edge) < pod(manifests.workloads["rami-edge"])["terminationGracePeriodSeconds"]


def test_one_image_runs_all_of_it_as_nobody(manifests: Manifests) -> None:
    images = {container(manifests.workloads[name])["image"] for name in OURS}
    assert len(images) == 1
    for name, module in MODULES.items():
        assert container(manifests.workloads[name])["args"] == [module]
    for workload in manifests.workloads.values():
        spec, only = pod(workload), container(workload)
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert only["resources"]["requests"].keys() == {"cpu", "memory"}
        assert "memory" in only["resources"]["limits"]
    for name in OURS:
        assert pod(manifests.workloads[name])["enableServiceLinks"] is False


def test_only_who_must_reaches_whom(manifests: Manifests) -> None:
    assert manifests.callers("rami-ai", "grpc") == {"rami-game"}
    assert manifests.callers("rami-game", "grpc") == {"rami-edge", "rami-matchmaking"}
    assert manifests.callers("rami-matchmaking", "grpc") == {"rami-edge"}
    assert manifests.callers("rami-edge", "edge") == {"everybody"}
    for name in OURS:
        assert manifests.callers(name, "metrics") == {"namespace monitoring"}
    closed = manifests.get("NetworkPolicy", "rami-nobody")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert manifests.reached("rami-ai") == set()
    assert manifests.reached("rami-edge") == {("rami-game", 7001), ("rami-matchmaking", 7003)}
    assert ("rami-ai", 7002) in manifests.reached("rami-game")
    for name in ("rami-game", "rami-matchmaking"):
        assert any(port == 6379 for _, port in manifests.reached(name)), "the store"
    assert manifests.secrets("rami-ai") == {"rami-keys"}
    assert manifests.secrets("rami-edge") == set()


def test_each_deployment_is_scaled_by_one(manifests: Manifests) -> None:
    scalers = {
        each["spec"]["scaleTargetRef"]["name"]: each
        for each in manifests.every("HorizontalPodAutoscaler", "ScaledObject")
    }
    assert scalers.keys() == set(SETTINGS)
    for name in scalers:
        assert "replicas" not in manifests.workloads[name]["spec"], "each rollout would set it back"
    for each in manifests.every("HorizontalPodAutoscaler"):
        assert each["spec"]["minReplicas"] <= each["spec"]["maxReplicas"]
        assert each["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] >= 300


def test_workers_are_scaled_by_what_is_recorded(manifests: Manifests) -> None:
    recorded = {rule.name for rule in (*OBJECTIVE_RULES, *SERVICE_RULES)}
    spec = manifests.get("ScaledObject", "rami-ai")["spec"]
    assert [trigger["metadata"]["query"] for trigger in spec["triggers"]] == [
        "rami:ai_queue_age_seconds:max",
        "rami:ai_busy:ratio_rate2m",
    ]
    for trigger in spec["triggers"]:
        assert trigger["type"] == "prometheus"
        assert trigger["metricType"] == "Value"
        assert trigger["metadata"]["query"] in recorded
        assert 0 < float(trigger["metadata"]["threshold"]) < 1
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] >= 300
    assert behavior["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert spec["minReplicaCount"] <= spec["fallback"]["replicas"] or spec["minReplicaCount"] <= spec["maxReplicaCount"]


def test_prometheus_finds_every_page_under_the_name_that_rules_use(manifests: Manifests) -> None:
    compose: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    jobs = set()
    for monitor in manifests.every("ServiceMonitor"):
        spec = monitor["spec"]
        services = [
            each for each in manifests.every("Service") if matches(spec["selector"], each["metadata"]["labels"])
        ]
        assert len(services) == 1
        assert {port["name"] for port in services[0]["spec"]["ports"]} >= {spec["endpoints"][0]["port"]}
        assert services[0]["spec"]["publishNotReadyAddresses"], "a pod that drains is to be seen"
        jobs.add(services[0]["metadata"]["labels"][spec["jobLabel"]])
    assert jobs == {job["job_name"] for job in compose["scrape_configs"]}
    assert manifests.get("PrometheusRule", "rami")["spec"]["groups"] == rule_groups()
