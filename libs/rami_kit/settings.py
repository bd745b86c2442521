"""The settings that all services share: environment variables with the prefix RAMI_, checked at start.

A service subclasses ServiceSettings with its own fields and default ports. A setting that is wrong stops the
start with one line that names the variable and what is allowed, and never repeats the value: it may be a
secret.
"""

from __future__ import annotations

import types
import typing
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rami_kit.peers import Network, parse_networks
from rami_kit.store_url import StoreUrl

ENV_PREFIX: Final = "RAMI_"
MIN_SECRET_BYTES: Final = 32
# Known to everybody who reads this: they start in development mode only.
DEVELOPMENT_JWT_SECRET: Final = "rami-development-player-secret-do-not-deploy"  # noqa: S105
DEVELOPMENT_SERVICE_SECRET: Final = "rami-development-service-secret-do-not-deploy"  # noqa: S105
RESERVED_ISSUERS: Final = frozenset({"rami", "rami-service"})


class Mode(StrEnum):
    """How strict the start is."""

    PRODUCTION = "production"
    DEVELOPMENT = "development"


class Durability(StrEnum):
    """When a durable commit is acknowledged."""

    MEMORY = "memory"
    FSYNC = "fsync"
    REPLICA = "replica"


class SettingsError(Exception):
    """A setting that is missing, wrong or not possible with the store in use; the text names it."""


class ServiceSettings(BaseSettings):
    """What every service is told from outside. Names of variables are the upper-cased fields with RAMI_."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    needs_store: ClassVar[bool] = True
    """Whether the service refuses to start without a store."""

    mode: Mode = Field(
        default=Mode.PRODUCTION,
        description="production, or development: built-in secrets are allowed, never expose such a service.",
    )
    host: str = Field(default="0.0.0.0", min_length=1, description="Address to listen on.")  # noqa: S104 - a server
    port: int = Field(default=0, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    metrics_port: int = Field(default=0, ge=0, le=65535, description="Port of the Prometheus page; 0 picks a free one.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="Least level logged.")

    tracing_endpoint: str | None = Field(
        default=None,
        min_length=1,
        description="Collector of traces (OTLP over gRPC), such as http://collector:4317; unset: nothing is traced.",
    )
    tracing_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Share that is kept of the traces that begin here; whoever begins others decides for theirs.",
    )
    redis_url: SecretStr | None = Field(
        default=None,
        description="Store: redis://host:port/0, unix:///path, redis+sentinel://host:port,host:port/service or "
        "redis+cluster://host:port,host:port; rediss for TLS. A secret, as it may hold a password.",
    )
    redis_pool_size: int = Field(default=20, ge=1, le=1000, description="Most connections to a server; callers wait.")
    redis_timeout_seconds: float = Field(
        default=2.0,
        gt=0,
        le=60,
        description="Longest wait for an answer of the store, for connecting and in the queue.",
    )
    partitions: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Hash tags that rooms spread over: 1 on one server, 256 on a cluster.",
    )
    durability: Durability = Field(
        default=Durability.MEMORY,
        description="When a commit is acknowledged: memory (applied), fsync (on disk), replica (on one).",
    )

    jwt_secret: SecretStr | None = Field(
        default=None, description="Key of player tokens signed by Rami (HS256), 32 bytes or more."
    )
    jwt_jwks_file: str | None = Field(
        default=None,
        description="JWKS file: public keys of an identity provider (EdDSA, RS256); re-read on change.",
    )
    jwt_issuer: str | None = Field(
        default=None,
        description="Issuer that tokens signed with a key of the JWKS file must name; any when unset.",
    )
    jwt_audience: str | None = Field(
        default=None,
        description="Audience that player tokens must name. Unset: tokens that name one are refused.",
    )
    jwt_secret_other: SecretStr | None = Field(
        default=None,
        description="Signs nothing, but its player tokens are good: the next or the last key, while keys are rotated.",
    )
    service_secret: SecretStr | None = Field(
        default=None, description="Key of the tokens services show each other (HS256), 32 bytes or more."
    )
    service_secret_other: SecretStr | None = Field(
        default=None,
        description="Signs nothing, but its service tokens are good: the next or the last key, while keys are rotated.",
    )

    game_address: str = Field(default="127.0.0.1:7001", min_length=1, description="gRPC target of the game service.")
    ai_address: str = Field(default="127.0.0.1:7002", min_length=1, description="gRPC target of the AI service.")

    tls_cert_file: str | None = Field(default=None, description="Certificate chain (PEM) of this service.")
    tls_key_file: str | None = Field(default=None, description="Private key (PEM) of this service.")
    tls_client_ca_file: str | None = Field(
        default=None, description="Authorities (PEM) whose client certificates are required (mTLS)."
    )
    tls_ca_file: str | None = Field(
        default=None,
        description="Authorities (PEM) of the services that are called; channels use TLS when set.",
    )

    drain_grace_seconds: float = Field(
        default=20.0, ge=0, le=600, description="Longest time from SIGTERM to the end of the process."
    )
    max_message_bytes: int = Field(default=65536, ge=1024, le=4 << 20, description="Longest accepted request message.")
    max_metadata_bytes: int = Field(
        default=16_384, ge=4096, le=1 << 20, description="Most metadata of a call; gRPC refuses more by itself."
    )
    max_deadline_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Longest deadline of a unary call; longer ones are cut to it."
    )
    max_pending_calls: int = Field(
        default=1024,
        ge=1,
        description="Calls that wait for the process to take them up; beyond, they end at once as CANCELLED.",
    )
    max_connection_age_seconds: int = Field(
        default=300,
        ge=1,
        description="A client connection is asked to reconnect after this time, give or take 10 %.",
    )
    max_stream_seconds: float = Field(
        default=3600.0,
        ge=0,
        description="A stream is ended with a retry hint after this time, give or take 10 %; 0 = never.",
    )

    max_streams: int = Field(
        default=8192, ge=0, description="Open streams of a process, such as watchers; one more is refused. 0 = no cap."
    )
    max_streams_per_player: int = Field(
        default=1024,
        ge=0,
        description="Open streams in a process of a player, or of an address where no token is asked for; 0 = no cap.",
    )
    rate_per_player: float = Field(
        default=1000.0,
        ge=0,
        le=1e6,
        description="Calls and Play actions a second that a process takes from a player for long; 0 = any number.",
    )
    rate_per_player_burst: int = Field(default=2000, ge=1, description="As many at once, after a rest.")
    rate_per_address: float = Field(
        default=10_000.0,
        ge=0,
        le=1e6,
        description="The same from an IPv4 address or IPv6 /64 network, bad tokens too; services' own calls are free.",
    )
    rate_per_address_burst: int = Field(default=20_000, ge=1, description="As many at once, after a rest.")
    trusted_proxies: str | None = Field(
        default=None,
        description="Proxies before this service, such as 10.0.0.7,fd00::/8: who calls is the last address of their "
        "x-forwarded-for. Nobody else's is believed.",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_development_secrets(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("mode") == Mode.DEVELOPMENT:
            values = dict(values)
            if not values.get("jwt_jwks_file"):
                values.setdefault("jwt_secret", DEVELOPMENT_JWT_SECRET)
            values.setdefault("service_secret", DEVELOPMENT_SERVICE_SECRET)
        return values

    @field_validator("redis_url")
    @classmethod
    def _check_redis_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            StoreUrl.parse(value.get_secret_value())
        return value

    @field_validator("jwt_secret", "jwt_secret_other", "service_secret", "service_secret_other")
    @classmethod
    def _check_secret_length(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value().encode()) < MIN_SECRET_BYTES:
            raise ValueError(f"must have {MIN_SECRET_BYTES} bytes or more")
        return value

    @field_validator("jwt_issuer")
    @classmethod
    def _check_issuer(cls, value: str | None) -> str | None:
        if value in RESERVED_ISSUERS:
            raise ValueError("is an issuer name that Rami signs with itself")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _check_trusted_proxies(cls, value: str | None) -> str | None:
        if value is not None:
            parse_networks(value)
        return value

    @model_validator(mode="after")
    def _check_whole(self) -> ServiceSettings:
        if self.needs_store and self.redis_url is None:
            raise ValueError("RAMI_REDIS_URL is missing: the service keeps its state there")
        if self.jwt_secret is None and self.jwt_jwks_file is None:
            raise ValueError("RAMI_JWT_SECRET or RAMI_JWT_JWKS_FILE is missing (mode development has a default)")
        if self.service_secret is None:
            raise ValueError("RAMI_SERVICE_SECRET is missing (mode development has a default)")
        players = {self.jwt_secret, self.jwt_secret_other} - {None}
        if players & {self.service_secret, self.service_secret_other}:
            raise ValueError(
                "RAMI_JWT_SECRET and RAMI_SERVICE_SECRET (and _OTHER) must differ: players are no services"
            )
        if self.mode is not Mode.DEVELOPMENT and self.uses_built_in_secret:
            raise ValueError("RAMI_JWT_SECRET and RAMI_SERVICE_SECRET must not be the built-in development secrets")
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("RAMI_TLS_CERT_FILE and RAMI_TLS_KEY_FILE go together")
        if self.tls_client_ca_file is not None and self.tls_cert_file is None:
            raise ValueError("RAMI_TLS_CLIENT_CA_FILE needs RAMI_TLS_CERT_FILE and RAMI_TLS_KEY_FILE")
        return self

    @property
    def trusted_networks(self) -> tuple[Network, ...]:
        """The proxies whose word on who calls is believed."""
        return parse_networks(self.trusted_proxies) if self.trusted_proxies is not None else ()

    @property
    def uses_built_in_secret(self) -> bool:
        """Whether a secret is one that everybody can read in this module."""
        known = {DEVELOPMENT_JWT_SECRET, DEVELOPMENT_SERVICE_SECRET}
        secrets = (self.jwt_secret, self.jwt_secret_other, self.service_secret, self.service_secret_other)
        return any(secret is not None and secret.get_secret_value() in known for secret in secrets)


class SettingRow(NamedTuple):
    """One line of the table of settings. `default` is text; a secret's is never shown."""

    env: str
    type: str
    default: str
    description: str


SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def load_settings(settings_cls: type[SettingsT]) -> SettingsT:
    """Reads the environment. Raises SettingsError, whose one line names every wrong variable but no value."""
    try:
        return settings_cls()
    except ValidationError as error:
        problems = []
        for item in error.errors(include_input=False, include_url=False, include_context=False):
            place = ".".join(str(part) for part in item["loc"])
            text = item["msg"].removeprefix("Value error, ")
            problems.append(f"{ENV_PREFIX}{place.upper()}: {text}" if place else text)
        raise SettingsError("; ".join(problems)) from None


def describe_settings(settings_cls: type[ServiceSettings]) -> list[SettingRow]:
    """The table of a service's settings, in the order in which they are defined."""
    rows = []
    for name, field in settings_cls.model_fields.items():
        annotation = field.annotation
        secret = annotation is not None and SecretStr in (annotation, *typing.get_args(annotation))
        default = "" if secret or field.default is None else str(field.default)
        rows.append(SettingRow(f"{ENV_PREFIX}{name.upper()}", _type_text(annotation), default, field.description or ""))
    return rows


def settings_values(settings: ServiceSettings) -> dict[str, Any]:
    """The values in use by variable, ready for JSON. Secrets show only whether they are set."""
    values: dict[str, Any] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        values[f"{ENV_PREFIX}{name.upper()}"] = "(set)" if isinstance(value, SecretStr) else value
    return values


def _type_text(annotation: Any) -> str:
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return _type_text(next(arg for arg in typing.get_args(annotation) if arg is not type(None)))
    if origin is Literal:
        return " or ".join(str(arg) for arg in typing.get_args(annotation))
    if annotation is SecretStr:
        return "secret"
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return " or ".join(member.value for member in annotation)
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


__all__ = [
    "DEVELOPMENT_SERVICE_SECRET",
    "Durability",
    "Mode",
    "ServiceSettings",
    "SettingRow",
    "SettingsError",
    "describe_settings",
    "load_settings",
    "settings_values",
]
