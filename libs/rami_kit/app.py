"""The life of a service process: settings, server, readiness, drain.

A service's __main__ is one call: `sys.exit(main(Settings, build, "game"))`. Its `build` gets the App, adds
servicers, checks, background tasks and closers, and returns; everything else, signals included, is done here.

    start:  settings -> store -> build -> ports -> one JSON line on stdout -> ready when all checks hold
    drain:  NOT_SERVING -> draining is set -> the server stops -> tasks end -> closers in reverse -> exit 0
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import uvloop
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from rami_kit import health
from rami_kit.access import Access
from rami_kit.admission import Admission
from rami_kit.auth import ServiceTokens, TokenVerifier
from rami_kit.backoff import Backoff
from rami_kit.interceptor import ServiceInterceptor
from rami_kit.jwks import JwksError
from rami_kit.logs import configure_logging
from rami_kit.metrics import Metrics
from rami_kit.metrics_page import MetricsServer, start_metrics_server
from rami_kit.process import let_threads_finish, settle_memory
from rami_kit.redis_store import Store, StoreClock
from rami_kit.server import PortTakenError, bind, make_server
from rami_kit.settings import ServiceSettings, SettingsError, describe_settings, load_settings, settings_values
from rami_kit.tracing import start_tracing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import grpc.aio

EXIT_FAILED: Final = 1
EXIT_BAD_SETTINGS: Final = 2
READINESS_SECONDS: Final = 0.2
"""How often the checks are looked at."""
FIRST_RESTART_SECONDS: Final = 0.1
LAST_RESTART_SECONDS: Final = 5.0
NOTICE_SECONDS: Final = 0.5
"""How long those who watch the health of a process have to hear that it drains, before its port closes."""
HEED_SECONDS: Final = 0.2
"""How long they have from then on to act on it."""
LINGER_SECONDS: Final = 0.5
"""How long clients have to take what their calls ended with, once every handler has."""
MOMENT_SECONDS: Final = 0.25
"""What each step of a drain has in any case, where the grace is long enough."""
FORCED_SECONDS: Final = 3.0
"""A process that is there so long after its grace is ended by force: a machine that is held up makes the end late."""
STEADY_SECONDS: Final = 30.0
"""A task that ran this long before it crashed is restarted as soon as one that crashed for the first time."""

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)
ServicerT = TypeVar("ServicerT")

_log = logging.getLogger(__name__)


class App:
    """One service process, or in tests one of several in a process.

    `settings` are the service's own; `store` is None for a service that runs without one; `draining` is set
    once the process begins to end: streams then raise `errors.shutting_down()`.
    """

    def __init__(self, settings: ServiceSettings, service_name: str) -> None:
        """Takes what the settings name, but opens nothing. Raises SettingsError."""
        self.settings = settings
        self.service_name = service_name
        self.audience = f"rami-{service_name}"
        """What service tokens for this service are made out to."""
        self.metrics = Metrics()
        self.store: Store | None = None
        self.draining = asyncio.Event()
        self.port = 0
        """The gRPC port in use, once started."""
        self.metrics_port = 0
        self.health = health.HealthServicer()
        try:
            verifier = TokenVerifier.from_settings(settings, self.audience)
            self.interceptor = ServiceInterceptor(
                admission=Admission.from_settings(settings, verifier, self.metrics.grpc),
                metrics=self.metrics.grpc,
                max_message_bytes=settings.max_message_bytes,
                max_stream_seconds=settings.max_stream_seconds,
                max_deadline_seconds=settings.max_deadline_seconds,
            )
            self.server = make_server(settings, self.interceptor)
        except JwksError as error:
            raise SettingsError(f"RAMI_JWT_JWKS_FILE: {error}") from None
        self._services: list[str] = []
        self._checks: dict[str, Callable[[], bool]] = {}
        self._failing: set[str] = set()
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._metrics_server: MetricsServer | None = None
        self._drain_began = 0.0
        shown = self.metrics.app
        shown.build.labels(service_name, version("rami")).set(1)
        shown.drain_grace.labels().set(settings.drain_grace_seconds)
        # An event loop that hangs while it drains must not hide it: the page has a thread of its own.
        shown.draining.read_from(lambda: time.monotonic() - self._drain_began if self._drain_began else 0.0)

    # What a service's build uses.

    @property
    def clock(self) -> StoreClock:
        """The store's clock. Raises RuntimeError in a service that has no store."""
        return self.require_store().clock

    def require_store(self) -> Store:
        """The store, for a service that cannot do without. Raises RuntimeError where there is none."""
        if self.store is None:
            raise RuntimeError("the service runs without a store")
        return self.store

    def service_tokens(self, audience: str, *, secret: str | None = None) -> ServiceTokens:
        """Tokens with which this service calls another, such as "rami-ai"; for the secret see ServiceTokens."""
        return ServiceTokens(self.settings, audience, subject=self.audience, secret=secret)

    def add_servicer(
        self,
        add_to_server: Callable[[ServicerT, grpc.aio.Server], None],
        servicer: ServicerT,
        service_full_name: str,
        access: Access = Access.PLAYER,
        overrides: Mapping[str, Access] | None = None,
    ) -> None:
        """Serves a servicer: `add_to_server` is the generated function, `overrides` are by method name.

        Raises LookupError for a service or method that no .proto file names: a typing error must not decide
        who may call what. Raises TypeError for a handler of the wrong kind: those of streams are async
        generators, and no method may stream its requests alone.
        """
        try:
            methods = descriptor_pool.Default().FindServiceByName(service_full_name).methods_by_name
        except KeyError:
            raise LookupError(f"no service is named {service_full_name}") from None
        for name in overrides or {}:
            if name not in methods:
                raise LookupError(f"{service_full_name} has no method {name}")
        for name, method in methods.items():
            self.metrics.grpc.prepare(f"{service_full_name}/{name}")
            if method.client_streaming and not method.server_streaming:
                raise TypeError(f"{service_full_name}/{name} streams its requests alone")
            kind_is_right = inspect.isasyncgenfunction if method.server_streaming else inspect.iscoroutinefunction
            if not kind_is_right(getattr(servicer, name, None)):
                kind = "an async generator" if method.server_streaming else "a coroutine"
                raise TypeError(f"{service_full_name}/{name} is not handled by {kind} function")
        self.interceptor.add_service(service_full_name, access, overrides)
        self.health.add_service(service_full_name)
        self._services.append(service_full_name)
        add_to_server(servicer, self.server)

    def add_closer(self, closer: Callable[[], Awaitable[None]]) -> None:
        """Calls `closer` at the end of draining; what was added last closes first."""
        self._closers.append(closer)

    def add_check(self, name: str, check: Callable[[], bool]) -> None:
        """The process is ready only while every check holds. Checks look at what is known and never wait."""
        self._checks[name] = check
        self.metrics.app.checks.labels(name)

    def spawn(self, name: str, coro_fn: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Runs a background task until the process ends.

        A crash is logged, counted, and the task begun again after a pause that grows to 5 s. One that returns
        is over. It is cancelled, and waited for, while draining.
        """
        self.metrics.tasks.crashes.labels(name)
        task = asyncio.create_task(self._supervise(name, coro_fn), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # The life of the process.

    async def start(self, build: Callable[[App], Awaitable[None]]) -> None:
        """Builds the service and serves it.

        Raises SettingsError, or PortTakenError for a port that cannot be had; `drain` cleans up either way.
        """
        if self.settings.uses_built_in_secret:
            _log.warning("built-in secrets are in use: everybody who reads the code can sign tokens")
        stop_tracing = start_tracing(self.settings, self.service_name)
        if stop_tracing is not None:
            self.add_closer(lambda: asyncio.to_thread(stop_tracing))
        if self.settings.redis_url is not None:
            store = self.store = await Store.connect(self.settings, self.metrics)
            self.add_closer(store.close)
            self.add_check("store", lambda: store.healthy)
        self._add_own_services()
        await build(self)
        self._add_reflection()
        self.port = bind(self.server, self.settings)
        try:
            self._metrics_server = start_metrics_server(
                self.metrics, host=self.settings.host, port=self.settings.metrics_port
            )
        except OSError as error:
            place = f"{self.settings.host}:{self.settings.metrics_port}"
            raise PortTakenError(f"cannot listen on {place} (RAMI_METRICS_PORT): {error.strerror}") from None
        self.metrics_port = self._metrics_server.port
        await self.server.start()
        self._look_at_checks()
        self.spawn("readiness", self._follow_checks)

    async def drain(self) -> None:
        """Ends the process's work in good order, within RAMI_DRAIN_GRACE_SECONDS; again, does nothing."""
        if self.draining.is_set():
            return
        self.health.drain()
        self._drain_began = time.monotonic()
        self.metrics.app.ready.labels().set(0)
        self.draining.set()
        grace = self.settings.drain_grace_seconds
        deadline = asyncio.get_running_loop().time() + grace * 0.95
        if self.health.watched:
            # Balancers that watch know before the port closes, and have a moment to send nobody any more.
            with suppress(TimeoutError):
                async with asyncio.timeout(NOTICE_SECONDS):
                    await self.health.told()
            await asyncio.sleep(min(HEED_SECONDS, 0.1 * grace))
        await self._stop_serving(grace * 0.7)
        # stop returns when the calls are over for the clients; their handlers may still be cleaning up.
        await self._within(deadline - grace * 0.2, "handlers", self.interceptor.wait_idle())
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await self._within(deadline - grace * 0.1, "background tasks", _all_done(set(self._tasks)))
        for closer in reversed(self._closers):
            try:
                await self._within(deadline, "closers", closer())
            except Exception:  # noqa: BLE001 - the other closers still have to run
                _log.exception("a closer failed")
        if self._metrics_server is not None:
            await asyncio.to_thread(self._metrics_server.close)

    async def _stop_serving(self, grace_seconds: float) -> None:
        """Lets calls in flight end, within the grace. Clients that do not read how their stream ends get no time."""
        stopping = asyncio.create_task(self.server.stop(grace_seconds), name="stop-server")
        giving_up = asyncio.create_task(self.interceptor.writers.give_up_unread(), name="give-up-unread")
        try:
            while not stopping.done():
                idle = asyncio.create_task(self.interceptor.wait_idle(), name="handlers-idle")
                await asyncio.wait({stopping, idle}, return_when=asyncio.FIRST_COMPLETED)
                idle.cancel()
                # The last answers are on their way; what is left of the server after that has nobody who reads.
                for _ in range(2):  # in two parts: who is held up in one, with the time passing, has the other
                    await asyncio.wait({stopping}, timeout=LINGER_SECONDS / 2)
                if not stopping.done() and not self.interceptor.running:
                    await self.server.stop(None)
            await stopping
        finally:
            giving_up.cancel()

    async def _within(self, deadline: float, what: str, awaitable: Awaitable[None]) -> None:
        """Waits until the deadline and, however late it is by then, for a moment more: whoever is held up while the
        deadline passes still has the moment.
        """
        ending = asyncio.ensure_future(awaitable)
        try:
            await asyncio.wait({ending}, timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
            async with asyncio.timeout(min(MOMENT_SECONDS, 0.05 * self.settings.drain_grace_seconds)):
                await ending
        except TimeoutError:
            _log.warning("%s did not end in time", what)
        finally:
            ending.cancel()

    def _add_own_services(self) -> None:
        self.interceptor.add_service(health.SERVICE_NAME, Access.PROBE, deadline_required=False)
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self.server)
        self.interceptor.add_service(reflection.SERVICE_NAME, Access.PUBLIC, deadline_required=False)

    def _add_reflection(self) -> None:
        names = (*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self.server)

    async def _follow_checks(self) -> None:
        loop, delay = asyncio.get_running_loop(), self.metrics.app.loop_delay.labels()
        while True:
            due = loop.time() + READINESS_SECONDS
            await asyncio.sleep(READINESS_SECONDS)
            delay.observe(max(0.0, loop.time() - due))
            self._look_at_checks()

    def _look_at_checks(self) -> None:
        shown = self.metrics.app
        failing = {name for name, check in self._checks.items() if not check()}
        for name in self._checks:
            shown.checks.labels(name).set(name not in failing)
        if failing != self._failing:
            _log.warning("not ready: %s", ", ".join(sorted(failing))) if failing else _log.info("ready")
            self._failing = failing
        self.health.set_serving(not failing)
        shown.ready.labels().set(self.health.serving)

    async def _supervise(self, name: str, coro_fn: Callable[[], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()
        backoff = Backoff(FIRST_RESTART_SECONDS, LAST_RESTART_SECONDS)
        while True:
            began = loop.time()
            try:
                await coro_fn()
            except Exception:  # noqa: BLE001 - whatever it was, the task has to live
                self.metrics.tasks.crashes.labels(name).inc()
                _log.exception("background task %s crashed and is restarted", name)
            else:
                _log.debug("background task %s has done its work", name)
                return
            if loop.time() - began > STEADY_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.next())


def main(
    settings_cls: type[SettingsT],
    build: Callable[[App], Awaitable[None]],
    service_name: str,
    argv: list[str] | None = None,
) -> int:
    """Runs a service until it is told to end; the exit code of its process.

    0 after a drain, 1 when it cannot start or is forced to end, 2 for bad settings.
    """
    parser = argparse.ArgumentParser(
        prog=service_name, description="Settings are environment variables with the prefix RAMI_."
    )
    parser.add_argument("--print-settings", action="store_true", help="print all settings and their values as JSON")
    arguments = parser.parse_args(argv)
    try:
        settings = load_settings(settings_cls)
        if arguments.print_settings:
            values = settings_values(settings)
            rows = [{**row._asdict(), "value": values[row.env]} for row in describe_settings(settings_cls)]
            _say(json.dumps(rows, indent=2))
            return 0
        configure_logging(settings.log_level, service_name)
        let_threads_finish()
        return uvloop.run(_run(settings, build, service_name))
    except SettingsError as error:
        return _fail(service_name, f"bad settings: {error}", EXIT_BAD_SETTINGS)
    except PortTakenError as error:
        return _fail(service_name, str(error), EXIT_FAILED)


async def _run(settings: ServiceSettings, build: Callable[[App], Awaitable[None]], service_name: str) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, stop, settings.drain_grace_seconds)
    app = App(settings, service_name)
    try:
        await app.start(build)
        settle_memory()
        line = {"service": service_name, "port": app.port, "metrics_port": app.metrics_port}
        _say(json.dumps(line))
        await stop.wait()
        _log.info("draining")
    finally:
        await app.drain()
    return 0


def _on_signal(stop: asyncio.Event, grace_seconds: float) -> None:
    if stop.is_set():
        # Whoever asks twice does not want to wait for anything, this loop included.
        _end_by_force()
    stop.set()
    # Draining keeps its time. What comes after it, such as a thread that never returns, does not by itself.
    watchdog = threading.Timer(grace_seconds + FORCED_SECONDS, _end_by_force)
    watchdog.daemon = True
    watchdog.start()


def _end_by_force() -> NoReturn:
    _log.warning("forced to end")
    os._exit(EXIT_FAILED)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _fail(service_name: str, text: str, code: int) -> int:
    sys.stderr.write(f"{service_name}: {text}\n")
    return code


async def _all_done(tasks: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)


__all__ = ["App", "main"]
