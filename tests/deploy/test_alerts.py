"""Every alert fires when it has to and only then, by promtool; files in the tree are what the code makes."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from monitoring.alerts import ALERTS
from monitoring.files import DEPLOY, made_files
from monitoring.site import RUNBOOK
from support.deploy_alerts import CASES, Case
from support.deploy_series import HEALTHY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from monitoring.rules import Alert

ALL: Mapping[str, Alert] = {alert.name: alert for alerts in ALERTS.values() for alert in alerts}
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool comes with the Debian package prometheus")


def promtool(*arguments: str) -> str:
    assert PROMTOOL is not None
    result = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=500, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def filled(text: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)


def expected(case: Case, alert: Alert) -> list[dict[str, Any]]:
    if alert.name not in case.fires:
        return []
    return [
        {
            "exp_labels": {"severity": alert.severity, **case.labels},
            "exp_annotations": {"summary": filled(alert.summary, case.labels), "runbook_url": alert.runbook},
        }
    ]


def as_test(case: Case) -> dict[str, Any]:
    return {
        "name": case.about,
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in {**HEALTHY, **case.changes}.items()],
        "alert_rule_test": [
            {"eval_time": case.at, "alertname": f"Rami{name}", "exp_alerts": expected(case, alert)}
            for name, alert in ALL.items()
        ],
    }


@needs_promtool
@pytest.mark.timeout(600)  # it works for as long as all the rest here together
def test_alerts_fire_alone_and_only_when_they_should(tmp_path: Path) -> None:
    healthy = Case("all is well", {})
    cases = [healthy, *(case for cases in CASES.values() for case in cases)]
    file = tmp_path / "cases.yaml"
    rules = str(DEPLOY / "prometheus" / "rules.yaml")
    content = {"rule_files": [rules], "evaluation_interval": "2m", "tests": [as_test(case) for case in cases]}
    file.write_text(yaml.safe_dump(content, width=1000))
    assert "SUCCESS" in promtool("test", "rules", str(file))


def test_every_alert_has_a_case_that_fires_and_one_that_must_not() -> None:
    assert CASES.keys() == ALL.keys()
    for name, cases in CASES.items():
        assert any(name in case.fires for case in cases), name
        assert any(name not in case.fires for case in cases), name


@needs_promtool
def test_the_rules_are_what_prometheus_reads() -> None:
    assert "SUCCESS" in promtool("check", "rules", str(DEPLOY / "prometheus" / "rules.yaml"))


@needs_promtool
def test_the_configuration_is_what_prometheus_reads() -> None:
    assert "SUCCESS" in promtool("check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))


def test_made_files_are_fresh() -> None:
    for path, text in made_files().items():
        assert path.read_text() == text, f"{path.relative_to(DEPLOY)} is not what `make monitoring` makes"


def test_every_alert_has_an_entry_in_the_runbook() -> None:
    entries = re.findall(r"^### (\w+)$", (DEPLOY / "runbook" / "alerts.md").read_text(), re.MULTILINE)
    assert entries == list(ALL)
    assert re.fullmatch(r"https://\S+[^/#]", RUNBOOK), "a page, to which the anchor of an entry is added"
    for alert in ALL.values():
        assert alert.runbook == f"{RUNBOOK}#{alert.name.lower()}"
        assert alert.severity in {"page", "ticket"}
