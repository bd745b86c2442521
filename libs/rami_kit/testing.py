"""What the tests of every service need: settings, tokens, and a service in the test's own event loop."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import jwt

from rami_kit.app import App
from rami_kit.auth import PLAYER_ISSUER, SERVICE_ISSUER
from rami_kit.channels import close_channels, open_channel
from rami_kit.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import grpc.aio

JWT_SECRET: Final = "player-secret-of-the-tests-0123456789"  # noqa: S105 - opens nothing but tests
SERVICE_SECRET: Final = "service-secret-of-the-tests-0123456789"  # noqa: S105 - opens nothing but tests


SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def make_settings(settings_cls: type[SettingsT], redis_url: str | None, **values: Any) -> SettingsT:
    """Settings for a service on loopback and free ports, with the secrets of the tokens made here."""
    defaults: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": 0,
        "metrics_port": 0,
        "redis_url": redis_url,
        "jwt_secret": JWT_SECRET,
        "service_secret": SERVICE_SECRET,
        "drain_grace_seconds": 5.0,
    }
    return settings_cls(**(defaults | values))


def player_token(subject: str, *, name: str | None = None, lifetime_seconds: float = 3600, **claims: Any) -> str:
    """A player's token; `claims` come on top or replace."""
    now = time.time()
    body = {"iss": PLAYER_ISSUER, "sub": subject, "iat": int(now), "exp": now + lifetime_seconds}
    if name is not None:
        body["name"] = name
    return jwt.encode(body | claims, JWT_SECRET, algorithm="HS256")


def service_token(audience: str, *, subject: str = "rami-tests", lifetime_seconds: float = 60, **claims: Any) -> str:
    """A service's token; `claims` come on top or replace."""
    now = int(time.time())
    body = {"iss": SERVICE_ISSUER, "sub": subject, "aud": audience, "iat": now, "exp": now + lifetime_seconds}
    return jwt.encode(body | claims, SERVICE_SECRET, algorithm="HS256")


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Call metadata with a token."""
    return (("authorization", f"Bearer {token}"),)


def player(subject: str, *, name: str | None = None) -> tuple[tuple[str, str], ...]:
    """Call metadata of a player."""
    return bearer(player_token(subject, name=name))


def service(audience: str, *, subject: str = "rami-tests") -> tuple[tuple[str, str], ...]:
    """Call metadata of a calling service."""
    return bearer(service_token(audience, subject=subject))


@asynccontextmanager
async def running_app(
    settings: ServiceSettings, build: Callable[[App], Awaitable[None]], service_name: str
) -> AsyncIterator[App]:
    """A service in this event loop, drained at the end. `app.port` is where it listens."""
    app = App(settings, service_name)
    try:
        await app.start(build)
        yield app
    finally:
        await app.drain()


@asynccontextmanager
async def channel_to(app: App) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a running app, closed at the end."""
    channel = open_channel(f"127.0.0.1:{app.port}", app.settings)
    try:
        yield channel
    finally:
        await close_channels(channel, grace_seconds=0)


__all__ = [
    "JWT_SECRET",
    "SERVICE_SECRET",
    "bearer",
    "channel_to",
    "make_settings",
    "player",
    "player_token",
    "running_app",
    "service",
    "service_token",
]
