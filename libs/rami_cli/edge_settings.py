"""The settings of the edge: environment variables with the prefix RAMI_EDGE_, checked before Envoy sees them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX: Final = "RAMI_EDGE_"
_FILES: Final = (
    "static_folder",
    *("tls_cert_file", "tls_key_file"),
    *("upstream_ca_file", "upstream_cert_file", "upstream_key_file"),
)
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


class EdgeSettingsError(Exception):
    """A setting of the edge that is wrong; the text names it."""


class Endpoint(NamedTuple):
    """A host name or an IP address, and a port. A name may stand for many addresses."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """From "host:port", with brackets around an IPv6 address. Raises ValueError."""
        host, _, port = text.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError("must be host:port, with commas between several")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class EdgeRow(NamedTuple):
    """One line of the table of settings; all of it is text."""

    name: str
    type: str
    default: str
    value: str
    description: str


Endpoints = Annotated[tuple[Endpoint, ...], NoDecode]
Texts = Annotated[tuple[str, ...], NoDecode]


class EdgeSettings(BaseSettings):
    """What the edge is told from outside. Names of variables are the upper-cased fields with RAMI_EDGE_."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    host: str = Field(default="0.0.0.0", min_length=1, description="Address to listen on.")  # noqa: S104 - a server
    port: int = Field(
        default=7000, ge=0, le=65535, description="Port for gRPC, gRPC-Web and files; 0 picks a free one."
    )
    metrics_port: int = Field(
        default=9100, ge=0, le=65535, description="Port of the Prometheus page; 0 picks a free one."
    )
    game_addresses: Endpoints = Field(
        default=(Endpoint("game", 7001),),
        description="Where game services listen: host:port, commas between; every address of a name is an endpoint.",
    )
    matchmaking_addresses: Endpoints = Field(
        default=(Endpoint("matchmaking", 7003),), description="Where matchmaking services listen, likewise."
    )
    cors_origins: Texts = Field(
        default=(),
        description="Web origins whose pages may call, such as https://play.example.com, commas between; * = any.",
    )
    static_folder: Path | None = Field(
        default=None, description="Folder of files served under /, a browser client say."
    )
    tls_cert_file: str | None = Field(
        default=None, description="Certificate chain (PEM) shown to clients; unset: plain text."
    )
    tls_key_file: str | None = Field(default=None, description="Its private key (PEM).")
    upstream_ca_file: str | None = Field(
        default=None, description="Authorities (PEM) of the services; TLS to them when set."
    )
    upstream_cert_file: str | None = Field(
        default=None, description="Certificate (PEM) shown to services that ask for one."
    )
    upstream_key_file: str | None = Field(default=None, description="Its private key (PEM).")
    trusted_hops: int = Field(
        default=0,
        ge=0,
        le=10,
        description="Proxies before the edge whose x-forwarded-for counts; 0 = clients come direct.",
    )
    calls_per_second: float = Field(
        default=200.0,
        ge=0,
        le=1e6,
        description="Calls and new streams a second from one address, in the long run; 0 = no limit.",
    )
    call_burst: int = Field(
        default=1000, ge=1, description="How many calls one address may make at once after a quiet time."
    )
    target_latency_ms: int = Field(
        default=75,
        ge=1,
        le=10_000,
        description="Half of the calls should be answered in this time; beyond, calls are refused.",
    )
    max_calls: int = Field(
        default=128, ge=8, le=100_000, description="Most unary calls that wait for each kind of service at once."
    )
    max_streams: int = Field(default=50_000, ge=1, description="Most open streams to each kind of service.")
    max_connections: int = Field(default=50_000, ge=1, description="Most client connections.")
    workers: int = Field(default=1, ge=1, le=256, description="Threads of the proxy.")
    drain_seconds: float = Field(
        default=5.0, ge=0, le=600, description="From SIGTERM to the end: open calls may finish."
    )
    access_log: Literal["all", "errors", "off"] = Field(
        default="errors",
        description="Which calls are logged: all, those that failed by a fault of the system, or none.",
    )

    @field_validator("game_addresses", "matchmaking_addresses", mode="before")
    @classmethod
    def _parse_addresses(cls, value: object) -> object:
        return tuple(Endpoint.parse(part) for part in value.split(",")) if isinstance(value, str) else value

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _parse_origins(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(origin == "*" or _ORIGIN.fullmatch(origin) for origin in value):
            raise ValueError("must be * or origins such as https://play.example.com, without a path")
        return value

    @model_validator(mode="after")
    def _check_whole(self) -> EdgeSettings:
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("RAMI_EDGE_TLS_CERT_FILE and RAMI_EDGE_TLS_KEY_FILE go together")
        if (self.upstream_cert_file is None) != (self.upstream_key_file is None):
            raise ValueError("RAMI_EDGE_UPSTREAM_CERT_FILE and RAMI_EDGE_UPSTREAM_KEY_FILE go together")
        if self.upstream_cert_file is not None and self.upstream_ca_file is None:
            raise ValueError("RAMI_EDGE_UPSTREAM_CERT_FILE needs RAMI_EDGE_UPSTREAM_CA_FILE")
        return self

    def resolved(self) -> EdgeSettings:
        """The same with absolute paths, for a process that leaves the current folder."""
        paths = {name: Path(value).absolute() for name in _FILES if (value := getattr(self, name)) is not None}
        return self.model_copy(
            update={name: path if name == "static_folder" else str(path) for name, path in paths.items()}
        )


def load_edge_settings() -> EdgeSettings:
    """Reads the environment. Raises EdgeSettingsError, whose one line names every wrong variable."""
    try:
        return EdgeSettings()
    except ValidationError as error:
        problems = []
        for item in error.errors(include_input=False, include_url=False, include_context=False):
            place = ".".join(str(part) for part in item["loc"])
            text = item["msg"].removeprefix("Value error, ")
            problems.append(f"{PREFIX}{place.upper()}: {text}" if place else text)
        raise EdgeSettingsError("; ".join(problems)) from None


def edge_rows() -> list[EdgeRow]:
    """Every setting of the edge, in the order in which they are defined. Raises EdgeSettingsError."""
    settings = load_edge_settings()
    return [
        EdgeRow(f"{PREFIX}{name.upper()}", _kind(name), _text(field.default), _text(getattr(settings, name)), text)
        for name, field in EdgeSettings.model_fields.items()
        if (text := field.description) is not None
    ]


def _kind(name: str) -> str:
    """The type of a setting, in a word."""
    if name == "access_log":
        return "all or errors or off"
    default = EdgeSettings.model_fields[name].default
    return "str" if default is None or isinstance(default, tuple) else type(default).__name__


def _text(value: object) -> str:
    """A value as one would write it in the environment."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return str(value)
