"""Who is told of what: a real Alertmanager tells the cause alone, to the right receiver, once."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from monitoring.alerts import ALERTS
from monitoring.files import DEPLOY
from monitoring.notifying import INHIBITIONS
from monitoring.site import RECEIVERS
from support.deploy_alertmanager import PROGRAM, running_alertmanager
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from monitoring.rules import Alert

ALL: dict[str, Alert] = {alert.name: alert for alerts in ALERTS.values() for alert in alerts}
CONFIG = DEPLOY / "alertmanager" / "alertmanager.yml"
AMTOOL = shutil.which("amtool")
needs_alertmanager = pytest.mark.skipif(
    AMTOOL is None or PROGRAM is None, reason="needs the Debian package prometheus-alertmanager"
)


def amtool(*arguments: str) -> str:
    assert AMTOOL is not None
    result = subprocess.run([AMTOOL, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@needs_alertmanager
def test_the_configuration_is_what_alertmanager_reads() -> None:
    assert "SUCCESS" in amtool("check-config", str(CONFIG))


@needs_alertmanager
@pytest.mark.parametrize(
    ("severity", "receiver"), [("page", "pages"), ("ticket", "tickets"), ("unheard-of", "tickets")]
)
def test_severity_says_who_is_told(severity: str, receiver: str) -> None:
    told = amtool("config", "routes", "test", f"--config.file={CONFIG}", f"severity={severity}", "alertname=RamiX")
    assert told.strip() == receiver


def test_what_explains_and_what_is_explained_exists() -> None:
    for each in INHIBITIONS:
        assert each.source in ALL
        assert set(each.targets) <= ALL.keys()
        assert each.source not in each.targets, "it would be silent for ever"
    pairs = {(each.source, target) for each in INHIBITIONS for target in each.targets}
    assert not {(target, source) for source, target in pairs} & pairs, "both would be silent"
    for alert in ALL.values():
        for cause in alert.but_not_while:
            assert (cause.alert, alert.name) in pairs
    assert RECEIVERS.keys() == {"pages", "tickets"}


def labels(name: str, **more: str) -> dict[str, str]:
    return {"alertname": f"Rami{name}", "severity": ALL[name].severity, **more}


@needs_alertmanager
async def test_the_cause_alone_is_told(tmp_path: Path) -> None:
    (store,) = [each for each in INHIBITIONS if each.source == "StoreAway"]
    (game,) = [each for each in INHIBITIONS if each.job == "rami-game"]
    assert len(store.targets) > 12
    async with running_alertmanager(tmp_path) as manager:
        everything = [labels("StoreAway"), *(labels(name) for name in store.targets)]
        await asyncio.to_thread(manager.post, everything)
        assert await asyncio.to_thread(lambda: manager.heard(inhibited=True)) == {
            each["alertname"] for each in everything
        }
        await asyncio.to_thread(manager.comes_to, {"RamiStoreAway"})
        await eventually(lambda: bool(manager.receivers.told), "somebody is told")
        assert manager.receivers.told == [("pages", "RamiStoreAway")]
        # What nothing explains is told besides: to whom it concerns.
        await asyncio.to_thread(manager.post, [labels("VersionsMixed"), labels("StoreEvicting", server="r1")])
        await eventually(lambda: len(manager.receivers.told) == 3, "two more are told")
        assert manager.receivers.names("tickets") == ["RamiVersionsMixed"]
        assert sorted(manager.receivers.names("pages")) == ["RamiStoreAway", "RamiStoreEvicting"]
    assert "EdgeWithoutService" in game.targets


@needs_alertmanager
async def test_a_service_that_is_down_silences_its_own_processes_only(tmp_path: Path) -> None:
    async with running_alertmanager(tmp_path) as manager:
        down, one = labels("ServiceDown", job="rami-ai"), labels("InstanceDown", job="rami-ai")
        await asyncio.to_thread(manager.post, [down, one, labels("BotTurnsFast"), labels("EdgeWithoutService")])
        await asyncio.to_thread(manager.comes_to, {"RamiServiceDown", "RamiEdgeWithoutService"})
        await asyncio.to_thread(manager.post, [labels("InstanceDown", job="rami-game")])
        everything = {"RamiServiceDown", "RamiEdgeWithoutService", "RamiInstanceDown"}
        await asyncio.to_thread(manager.comes_to, everything)
