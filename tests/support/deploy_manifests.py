"""What kustomize makes of an overlay, and questions about it."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
import yaml

from monitoring.files import DEPLOY

if TYPE_CHECKING:
    from collections.abc import Mapping

Resource: TypeAlias = "dict[str, Any]"

OVERLAYS = DEPLOY / "k8s" / "overlays"
KUBECTL = shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="needs kubectl: the Debian package kubernetes-client")


class Manifests:
    """The resources of an overlay by kind and name."""

    def __init__(self, resources: list[Resource]) -> None:
        self.all = resources
        keys = [(resource["kind"], resource["metadata"]["name"]) for resource in resources]
        assert len(set(keys)) == len(keys), "two resources of one name"
        self._by_key = dict(zip(keys, resources, strict=True))

    def get(self, kind: str, name: str) -> Resource:
        """One that must be there."""
        return self._by_key[kind, name]

    def names(self, kind: str) -> set[str]:
        """Of all resources of a kind."""
        return {name for of_kind, name in self._by_key if of_kind == kind}

    def every(self, *kinds: str) -> list[Resource]:
        """All resources of some kinds."""
        return [resource for resource in self.all if resource["kind"] in kinds]

    @property
    def workloads(self) -> dict[str, Resource]:
        """Deployments and StatefulSets by name."""
        return {each["metadata"]["name"]: each for each in self.every("Deployment", "StatefulSet")}

    def chosen(self, selector: Mapping[str, Any]) -> set[str]:
        """The workloads whose pods a selector chooses: matchLabels, or matchExpressions with In."""
        return {name for name, workload in self.workloads.items() if matches(selector, pod_labels(workload))}

    def environment(self, workload: str) -> dict[str, str]:
        """The variables that a container gets from ConfigMaps and in so many words; "secret" stands for what is one."""
        values: dict[str, str] = {}
        only = container(self.workloads[workload])
        for source in only.get("envFrom", []):
            if "configMapRef" in source:
                values |= self.get("ConfigMap", source["configMapRef"]["name"])["data"]
        told = {each["name"]: each["value"] for each in only.get("env", []) if "value" in each}
        return values | {name: re.sub(r"\$\(\w+\)", "secret", value) for name, value in told.items()}

    def secrets(self, workload: str) -> set[str]:
        """The Secrets whose values a container gets."""
        only = container(self.workloads[workload])
        whole = {source["secretRef"]["name"] for source in only.get("envFrom", []) if "secretRef" in source}
        sources = [each["valueFrom"] for each in only.get("env", []) if "valueFrom" in each]
        return whole | {source["secretKeyRef"]["name"] for source in sources if "secretKeyRef" in source}

    def callers(self, workload: str, port: str) -> set[str]:
        """The workloads that policies let reach a named port; "namespace NAME" and "everybody" stand for others."""
        found: set[str] = set()
        for policy in self.every("NetworkPolicy"):
            spec = policy["spec"]
            if workload not in self.chosen(spec["podSelector"]):
                continue
            for rule in spec.get("ingress", []):
                if port in {each["port"] for each in rule["ports"]}:
                    peers = rule.get("from")
                    found |= {"everybody"} if peers is None else {name for peer in peers for name in self._peer(peer)}
        return found

    def reached(self, workload: str) -> set[tuple[str, int]]:
        """The workloads and ports that policies let a workload call, names of the cluster apart."""
        found: set[tuple[str, int]] = set()
        for policy in self.every("NetworkPolicy"):
            if workload in self.chosen(policy["spec"]["podSelector"]):
                for rule in policy["spec"].get("egress", []):
                    ports = [each["port"] for each in rule["ports"]]
                    names = {name for peer in rule["to"] for name in self._peer(peer)}
                    found |= {(name, port) for name in names for port in ports}
        return {each for each in found if each[0] != "namespace kube-system"}

    def _peer(self, peer: Resource) -> set[str]:
        if "namespaceSelector" in peer:
            (name,) = peer["namespaceSelector"]["matchLabels"].values()
            return {f"namespace {name}"}
        if "ipBlock" in peer:
            return {peer["ipBlock"]["cidr"]}
        return self.chosen(peer["podSelector"])


@cache
def render(overlay: str) -> Manifests:
    """Builds an overlay; needs kubectl."""
    assert KUBECTL is not None
    result = subprocess.run(
        [KUBECTL, "kustomize", str(OVERLAYS / overlay)], capture_output=True, text=True, timeout=250, check=False
    )
    assert result.returncode == 0, result.stderr
    return Manifests([resource for resource in yaml.safe_load_all(result.stdout) if resource])


def pod(workload: Resource) -> Resource:
    """The spec of a workload's pods."""
    spec: Resource = workload["spec"]["template"]["spec"]
    return spec


def pod_labels(workload: Resource) -> dict[str, str]:
    """The labels of a workload's pods."""
    labels: dict[str, str] = workload["spec"]["template"]["metadata"]["labels"]
    return labels


def container(workload: Resource) -> Resource:
    """The one container of a workload's pods."""
    (only,) = pod(workload)["containers"]
    found: Resource = only
    return found


def ports(workload: Resource) -> dict[str, int]:
    """The container's ports by name."""
    return {port["name"]: port["containerPort"] for port in container(workload)["ports"]}


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels fulfil a selector."""
    wanted = selector.get("matchLabels", {})
    return wanted.items() <= labels.items() and all(
        labels.get(each["key"]) in each["values"] for each in selector.get("matchExpressions", [])
    )
