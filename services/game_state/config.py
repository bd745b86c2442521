"""The settings of the game service."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from pydantic import Field, field_validator, model_validator

from game_state.draft import TableTimes
from rami_engine import Guards
from rami_kit.auth import bot_key
from rami_kit.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class GameSettings(ServiceSettings):
    """What the game service is told from outside."""

    port: int = Field(7001, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    metrics_port: int = Field(9101, ge=0, le=65535, description="Port of the Prometheus page; 0 picks a free one.")
    max_rooms_per_player: int = Field(
        100,
        ge=0,
        le=1000,
        description="Rooms that a player hosts at once, on all replicas, until they are over; 0 = any.",
    )
    wrong_codes_per_address: float = Field(
        2.0, ge=0, le=1e6, description="Wrong join codes a second that a process bears from an address; 0 = any number."
    )
    wrong_codes_per_address_burst: int = Field(100, ge=1, description="As many at once, after a rest.")
    kept_rooms: int = Field(10_000, ge=1, description="Decoded rooms that a replica keeps in memory.")
    bots: str = Field("easy,normal,hard", description="Ids of the bot profiles that may be seated, comma-separated.")
    bot_services: str = Field(
        "",
        description="Profiles that decision services of others play: profile=address with semicolons between, such as "
        "monk=monk.example:7100.",
    )
    autopilot_bot: str = Field("easy", description="Profile that plays for people who are away.")
    bot_pace_seconds: float = Field(
        0.6, ge=0, le=30, description="Least time between two actions of a bot, in rooms with people that set none."
    )
    decision_timeout_seconds: float = Field(
        2.0, gt=0, le=60, description="How long the AI service has for one decision before it is asked again."
    )
    decision_patience_seconds: float = Field(
        2.0,
        ge=0,
        le=60,
        description="How long a bot's turn waits for an AI service that is busy or has just gone away before the "
        "fallback plays; tables of bots alone wait 30 times as long for a busy one.",
    )
    entropy_window_seconds: float = Field(
        2.0, ge=0, le=60, description="How long a room that starts by itself waits for the entropy of people."
    )
    lobby_idle_seconds: float = Field(1800, gt=0, description="A lobby in which nothing happens ends after this time.")
    match_idle_seconds: float = Field(86_400, gt=0, description="A match in which nothing happens is abandoned then.")
    finished_seconds: float = Field(3600, gt=0, description="A room stays this long after its match.")
    archive_url: str | None = Field(
        None,
        description="Folder, or any address that fsspec reaches (s3://…), to which finished matches are written; "
        "unset: none are kept.",
    )
    archive_redeliver_seconds: float = Field(
        30.0, gt=0, le=600, description="A match that a replica did not finish archiving is given to another then."
    )
    lease_seconds: float = Field(
        1.0, gt=0, le=10, description="How late a replica may be with what is due before another takes over."
    )
    sweep_seconds: float = Field(0.5, gt=0, le=10, description="How often a replica looks for what is due.")
    heartbeat_seconds: float = Field(15.0, gt=0, description="A stream that was quiet for so long sends a heartbeat.")
    max_turns_per_round: int = Field(400, ge=1, description="Turns of all seats after which a round ends.")
    max_turns_per_match: int = Field(
        10_000, ge=1, le=100_000, description="Turns of all seats after which a match ends."
    )

    @field_validator("bots")
    @classmethod
    def _check_bots(cls, value: str) -> str:
        if not all(name.strip() for name in value.split(",")):
            raise ValueError("must be profile ids with commas between them")
        return value

    @field_validator("bot_services")
    @classmethod
    def _check_bot_services(cls, value: str) -> str:
        pairs = _pairs(value)
        if not all(bot and "," not in bot and address for bot, address in pairs):
            raise ValueError("must be profile=address with semicolons between")
        if len({bot for bot, _ in pairs}) < len(pairs):
            raise ValueError("must name each profile once")
        return value

    @model_validator(mode="after")
    def _check_bots_apart(self) -> GameSettings:
        if self.third_party_bots.keys() & set(self.bot_profiles):
            raise ValueError("RAMI_BOT_SERVICES must not name a profile of RAMI_BOTS")
        return self

    @property
    def third_party_bots(self) -> Mapping[str, str]:
        """The addresses of decision services of others by the profile that each plays."""
        return dict(_pairs(self.bot_services))

    @property
    def bot_profiles(self) -> Sequence[str]:
        """The ids of the bot profiles that the AI service plays."""
        return tuple(name.strip() for name in self.bots.split(","))

    @property
    def guards(self) -> Guards:
        """The limits of rounds and matches in rooms created from now on."""
        return Guards(self.max_turns_per_round, self.max_turns_per_match)

    @property
    def times(self) -> TableTimes:
        """How long things take at a table."""
        return TableTimes(
            bot_pace_ms=round(self.bot_pace_seconds * 1000),
            entropy_window_ms=round(self.entropy_window_seconds * 1000),
            lobby_ttl_ms=round(self.lobby_idle_seconds * 1000),
            match_ttl_ms=round(self.match_idle_seconds * 1000),
            over_ttl_ms=round(self.finished_seconds * 1000),
            lease_ms=round(self.lease_seconds * 1000),
        )

    def bot_key(self, bot: str) -> str:
        """The key of the tokens that somebody else's bot service is shown."""
        assert self.service_secret is not None, "settings without it do not load"
        return bot_key(self.service_secret.get_secret_value(), bot)

    def derived_key(self, purpose: str) -> bytes:
        """A key of its own for each purpose, from the secret that all services share; 32 bytes."""
        assert self.service_secret is not None, "settings without it do not load"
        secret = self.service_secret.get_secret_value().encode()
        return hmac.new(secret, f"rami/{purpose}".encode(), hashlib.sha256).digest()


def _pairs(text: str) -> list[tuple[str, str]]:
    """The two sides of each `profile=address` of a setting, either of them empty where it is missing."""
    parts = [part.partition("=") for part in text.split(";") if part.strip()]
    return [(bot.strip(), address.strip()) for bot, _, address in parts]
