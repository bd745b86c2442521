"""The measurements of matching in small: what they say, not how fast this machine is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from matchmaking import speed

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_passes_are_measured_over_queues_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "PASSES", 5)
    narrow, widening = speed.pass_costs(50), speed.pass_costs(50, widening=True)
    assert narrow["waiting"] == 50
    # Those who come sit down with each other, whoever else waits.
    assert narrow["tables"] == widening["tables"] == speed.pass_costs(500)["tables"] > 0
    assert 0 < narrow["median"] <= narrow["p99"] <= narrow["most"]


def test_calls_are_measured_on_a_real_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed, "PASSES", 2)
    arguments = ["--waiting", "30", "--rate", "20", "--seconds", "2", "--folder", str(tmp_path)]
    assert speed.main(arguments) == 0
    report = json.loads((tmp_path / "matching.json").read_text())
    assert json.loads(capsys.readouterr().out) == report
    service = report["service"]
    assert service["waiting"] == 30
    assert service["passes"] > 0
    assert sum(one["calls"] for one in service["in_service"].values()) == 40
    assert all(0 <= one["over_50_ms"] <= one["calls"] for one in service["in_service"].values())
    assert service["service_cpu_us_a_call"] > 0
    assert service["calls_ms"]["create"]["p99"] >= service["calls_ms"]["create"]["median"] > 0
    assert all(name.startswith("cancel FAILED_PRECONDITION") for name in service["failures"])
