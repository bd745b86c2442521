"""What a process says of itself to Prometheus: readiness, checks, drain, and its store's servers."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING

from rami_kit.metrics import FAULT_CODES
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings, running_app
from support.echo import SERVICE, EchoServicer, build_echo
from support.waiting import eventually

if TYPE_CHECKING:
    from rami_kit.app import App


class Settings(ServiceSettings):
    needs_store = False


def sample(app: App, name: str, **labels: str) -> float | None:
    return app.metrics.registry.get_sample_value(name, labels)


async def test_readiness_is_shown_by_check() -> None:
    holds = True

    async def build(app: App) -> None:
        app.add_check("mood", lambda: holds)

    async with running_app(make_settings(Settings, None), build, "game") as app:
        assert sample(app, "rami_app_build_info", service="game", version=version("rami")) == 1
        assert sample(app, "rami_app_ready_info") == 1
        assert sample(app, "rami_app_check_info", check="mood") == 1
        holds = False
        await eventually(lambda: sample(app, "rami_app_check_info", check="mood") == 0, "the check is seen to fail")
        assert sample(app, "rami_app_ready_info") == 0
        holds = True
        await eventually(lambda: sample(app, "rami_app_ready_info") == 1, "the process is ready again")
        await eventually(lambda: bool(sample(app, "rami_app_loop_delay_seconds_count")), "the loop is looked at")


async def test_a_drain_is_shown_while_it_lasts() -> None:
    ended, shown = asyncio.Event(), asyncio.Event()

    async def build(app: App) -> None:
        async def close() -> None:
            ended.set()
            await shown.wait()

        app.add_closer(close)

    async with running_app(make_settings(Settings, None, drain_grace_seconds=30), build, "game") as app:
        assert sample(app, "rami_app_draining_seconds") == 0
        assert sample(app, "rami_app_drain_grace_seconds") == 30
        drain = asyncio.create_task(app.drain())
        await ended.wait()
        first = sample(app, "rami_app_draining_seconds")
        assert first is not None
        await eventually(lambda: (sample(app, "rami_app_draining_seconds") or 0) > first > 0, "time goes on")
        assert sample(app, "rami_app_ready_info") == 0
        shown.set()
        await drain


async def test_every_method_shows_before_it_is_called() -> None:
    async with running_app(make_settings(Settings, None), build_echo(EchoServicer()), "game") as app:
        for family in app.metrics.registry.collect():
            if family.name == "rami_grpc_handled":
                codes = {each.labels["code"] for each in family.samples if each.labels["method"].startswith(SERVICE)}
                assert codes == {"OK", *FAULT_CODES}
                assert {each.value for each in family.samples} == {0}
                return
        raise AssertionError("the metric is missing")


async def test_servers_of_the_store_report(store_url: str) -> None:
    async with running_app(make_settings(Settings, store_url), build_echo(EchoServicer()), "game") as app:
        server = store_url.removeprefix("redis://").partition("/")[0]
        await eventually(
            lambda: bool(sample(app, "rami_store_server_memory_bytes", server=server)), "the server has reported"
        )
        assert sample(app, "rami_store_server_persistence_ok_info", server=server) == 1
        assert sample(app, "rami_store_server_evicted_keys", server=server) == 0
        assert sample(app, "rami_store_waiting_calls") == 0
