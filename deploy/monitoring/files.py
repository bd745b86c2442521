"""Which files are made of this code, and what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import yaml

from monitoring.alerts import ALERTS
from monitoring.dashboards import DASHBOARDS
from monitoring.notifying import alertmanager
from monitoring.recording import OBJECTIVE_RULES, SERVICE_RULES
from monitoring.rules import group

DEPLOY: Final = Path(__file__).resolve().parent.parent
HEADER: Final = "# Made by `make monitoring` of the code in deploy/monitoring; change that.\n"


def rule_groups() -> list[dict[str, Any]]:
    """All rules: what is recorded first, since alerts read it."""
    return [
        group("rami-objectives", OBJECTIVE_RULES),
        group("rami-services", SERVICE_RULES),
        *(group(f"rami-alerts-{component}", alerts) for component, alerts in ALERTS.items()),
    ]


def made_files() -> dict[Path, str]:
    """The text of every made file by its path."""
    rules = {"groups": rule_groups()}
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "rami", "labels": {"app.kubernetes.io/part-of": "rami"}},
        "spec": rules,
    }
    files = {
        DEPLOY / "prometheus" / "rules.yaml": HEADER + _yaml(rules),
        DEPLOY / "k8s" / "base" / "prometheus-rules.yaml": HEADER + _yaml(resource),
        DEPLOY / "alertmanager" / "alertmanager.yml": HEADER + _yaml(alertmanager()),
    }
    for dashboard in DASHBOARDS:
        text = json.dumps(dashboard.as_json(), indent=2, ensure_ascii=False) + "\n"
        files[DEPLOY / "grafana" / "dashboards" / f"{dashboard.uid}.json"] = text
    return files


def _yaml(content: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, width=110, allow_unicode=True)
    return text
