"""A real Prometheus with the committed rules that scrapes a cluster of this machine, quickly."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import yaml

from monitoring.asking import QueryError, instant
from monitoring.files import DEPLOY
from support.ports import free_port
from support.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

SCRAPE = "500ms"
WINDOW = "10s"
"""What Grafana's $__rate_interval stands for at this speed."""


def fast_config(metrics: Mapping[str, str], alertmanager: str = "") -> dict[str, Any]:
    """The configuration of Compose with these pages (name of a process: host:port) and more haste."""
    config: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE, "evaluation_interval": "1s"}
    config["rule_files"] = [str(DEPLOY / "prometheus" / "rules.yaml")]
    config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []}
    jobs = {job["job_name"]: job["dns_sd_configs"][0]["names"][0] for job in config["scrape_configs"]}
    config["scrape_configs"] = []
    for job, service in jobs.items():
        pages = [page for name, page in metrics.items() if name.partition("-")[0] == service]
        assert pages or service == "edge", f"nothing in the cluster is scraped as {job}"
        config["scrape_configs"].append({"job_name": job, "static_configs": [{"targets": pages}]})
    return config


@asynccontextmanager
async def running_prometheus(folder: Path, metrics: Mapping[str, str], alertmanager: str = "") -> AsyncIterator[str]:
    """The address of a Prometheus that has evaluated its rules once, and tells an Alertmanager at host:port."""
    program = shutil.which("prometheus")
    assert program is not None
    config, log_file = folder / "prometheus.yml", folder / "prometheus.log"
    config.write_text(yaml.safe_dump(fast_config(metrics, alertmanager)))
    port = free_port()
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    with log_file.open("w") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not await _evaluated(address):
                assert process.returncode is None, log_file.read_text()
                await asyncio.sleep(0.1)
        yield address
    finally:
        process.terminate()
        await process.wait()


async def _evaluated(address: str) -> bool:
    try:
        return bool(await asyncio.to_thread(instant, address, "rami:store_up:min"))
    except QueryError:
        return False  # it does not listen yet
