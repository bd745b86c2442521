"""Draws the pictures of the dashboards in deploy/grafana/pictures: a cluster under load, scraped for some minutes.

Takes about as long as it is told to look; needs Prometheus (Debian package `prometheus`).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "deploy"), str(ROOT / "tests")]

from monitoring.drawing import save_all  # noqa: E402 - found through the path above
from support.cluster import running_cluster  # noqa: E402
from support.deploy_load import load  # noqa: E402
from support.deploy_prometheus import WINDOW, running_prometheus  # noqa: E402

LOOK_SECONDS = 180


async def draw(seconds: float) -> None:
    pictures = ROOT / "deploy" / "grafana" / "pictures"
    with tempfile.TemporaryDirectory() as folder:
        environment = {"RAMI_BOT_PACE_SECONDS": "0.1", "RAMI_BOT_FILL_WAIT_SECONDS": "1"}
        environment["RAMI_ARCHIVE_URL"] = f"{folder}/archive"
        await draw_cluster(Path(folder), environment, pictures, seconds)


async def draw_cluster(folder: Path, environment: dict[str, str], pictures: Path, seconds: float) -> None:
    with running_cluster("--edge", "--game-replicas", "2", **environment) as cluster:
        async with load(cluster), running_prometheus(folder, cluster.metrics) as address:
            begin = time.time()
            await asyncio.sleep(seconds)
            await asyncio.to_thread(save_all, address, pictures, begin, time.time(), WINDOW)


if __name__ == "__main__":
    asyncio.run(draw(float(sys.argv[1]) if sys.argv[1:] else LOOK_SECONDS))
