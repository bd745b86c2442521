"""The Compose file agrees with the code, the image and the files it mounts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_decision.config import AiSettings
from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from monitoring.dashboards import DASHBOARDS
from monitoring.files import DEPLOY
from rami_kit.app import FORCED_SECONDS
from rami_kit.settings import ServiceSettings, describe_settings, load_settings
from support.deploy_dockerfile import read_dockerfile

FOLDER = DEPLOY / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS: dict[str, tuple[str, type[ServiceSettings]]] = {
    "game": ("game_state", GameSettings),
    "ai": ("ai_decision", AiSettings),
    "matchmaking": ("matchmaking", MatchmakingSettings),
}


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


def test_all_parts_are_there() -> None:
    assert SERVICES.keys() == {*OURS, "redis", "edge", "prometheus", "alertmanager", "grafana"}
    for name in OURS:
        assert SERVICES[name]["deploy"]["replicas"] == 2
        assert SERVICES[name]["image"] == SERVICES["game"]["image"]
        assert SERVICES[name]["read_only"]
        assert SERVICES[name]["cap_drop"] == ["ALL"]
        assert "ports" not in SERVICES[name], "players come through the edge"
        assert SERVICES[name]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"]
    assert "--appendonly" in SERVICES["redis"]["command"]
    assert "noeviction" in SERVICES["redis"]["command"]


@pytest.mark.parametrize("name", OURS)
def test_settings_exist_and_are_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, settings = OURS[name]
    assert SERVICES[name]["command"] == [module]
    told: dict[str, str] = SERVICES[name]["environment"]
    known = {row.env for row in describe_settings(settings)}
    assert told.keys() <= known
    for variable, value in told.items():
        monkeypatch.setenv(variable, variable.ljust(32, "x") if value.startswith("${") else value)
    loaded = load_settings(settings)
    assert loaded.port == settings.model_fields["port"].default
    assert loaded.metrics_port == settings.model_fields["metrics_port"].default
    assert seconds(SERVICES[name]["stop_grace_period"]) > loaded.drain_grace_seconds + FORCED_SECONDS
    assert "RAMI_PORT" in told, "the image's health check asks there"
    for address in (loaded.game_address, loaded.ai_address):
        service, _, port = address.removeprefix("dns:///").partition(":")
        assert int(port) == OURS[service][1].model_fields["port"].default


def test_secrets_have_no_default() -> None:
    for name in OURS:
        for variable in ("RAMI_JWT_SECRET", "RAMI_SERVICE_SECRET"):
            assert SERVICES[name]["environment"][variable].startswith(f"${{{variable}:?")
    assert "RAMI_REDIS_URL" not in SERVICES["ai"]["environment"]


def test_what_is_built_and_mounted_exists() -> None:
    build = SERVICES["game"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).is_file()
    assert read_dockerfile(FOLDER / "Dockerfile")[-1].all("HEALTHCHECK")
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (FOLDER / source).exists(), volume


def test_what_is_waited_for_can_become_healthy() -> None:
    for service in SERVICES.values():
        wanted = service.get("depends_on", {})
        for name in wanted if isinstance(wanted, dict) else []:
            assert name in OURS or "healthcheck" in SERVICES[name]


def test_prometheus_scrapes_every_service_where_its_page_is() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    for job in config["scrape_configs"]:
        (source,) = job["dns_sd_configs"]
        (name,) = source["names"]
        assert job["job_name"] == f"rami-{name}"
        if name in OURS:
            assert source["port"] == OURS[name][1].model_fields["metrics_port"].default
        else:
            assert name in SERVICES
    assert {job["job_name"].removeprefix("rami-") for job in config["scrape_configs"]} == {*OURS, "edge"}
    (manager,) = config["alerting"]["alertmanagers"]
    assert set(manager["dns_sd_configs"][0]["names"]) <= SERVICES.keys()
    for name in config["rule_files"]:
        assert (DEPLOY / "prometheus" / name).is_file()


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "rami.yaml").read_text())["providers"]
    mounts = {Path(each.split(":")[1]): FOLDER / each.split(":")[0] for each in SERVICES["grafana"]["volumes"]}
    dashboards = list(mounts[Path(provider["options"]["path"])].glob("*.json"))
    assert len(dashboards) == len(DASHBOARDS)
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert mounts[home.parent] / home.name in dashboards
    ids = [json.loads(path.read_text())["uid"] for path in dashboards]
    assert len(set(ids)) == len(ids)
