"""The settings of the matchmaking service, on top of those that all services share."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from matchmaking.tickets import MatchPolicy, TicketTimes
from rami_kit.settings import Mode, ServiceSettings

_BOT: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
_NUMBER: Final = re.compile(r"-?[0-9]{1,6}([.][0-9]{1,6})?", re.ASCII)


def parse_bot_ratings(text: str) -> dict[str, float]:
    """Profiles and ratings of a text such as "easy=850,hard=1150". Raises ValueError, which says what is allowed."""
    ratings: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if _BOT.fullmatch(name) is None or name in ratings:
            raise ValueError("must name each profile once, with lower-case letters, digits, - and _, 32 at most")
        if _NUMBER.fullmatch(number) is None:
            raise ValueError("must give each profile a rating, as in easy=850,hard=1150")
        ratings[name] = float(number)
    return ratings


class MatchmakingSettings(ServiceSettings):
    """What the matchmaking service is told from outside."""

    port: int = Field(7003, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    metrics_port: int = Field(9103, ge=0, le=65535, description="Port of the Prometheus page; 0 picks a free one.")

    guests_allowed: bool | None = Field(
        None, description="CreateGuest signs in anybody; unset: yes in development, else no."
    )
    guest_token_seconds: float = Field(
        2_592_000.0, ge=60, description="How long a guest's token lives; renewed before, it goes on."
    )
    guest_rate_per_address: float = Field(
        50.0, ge=0, le=1e6, description="CreateGuest a second that a process takes from an address for long; 0 = any."
    )
    guest_rate_per_address_burst: int = Field(1000, ge=1, description="As many at once, after a rest.")

    guest_renewals_per_player: float = Field(
        0.1, ge=0, le=1e6, description="RenewGuest a second that a process takes from a player for long; 0 = any."
    )
    guest_renewals_per_player_burst: int = Field(20, ge=1, description="As many at once, after a rest.")

    match_width: float = Field(
        100.0, ge=0, description="Rating points that rivals may be apart at first; both must accept."
    )
    match_width_step: float = Field(50.0, ge=0, description="Points that the width grows by with every step.")
    match_width_step_seconds: float = Field(10.0, ge=0.001, description="Waiting time between two steps.")
    match_width_max: float = Field(500.0, ge=0, description="Points that the width never exceeds.")
    match_open_seconds: float = Field(
        120.0,
        ge=0,
        description="Who has waited so long accepts everybody of a pool who has as well, at any width; 0 = never.",
    )
    match_spread_per_second: float = Field(
        50.0,
        ge=0,
        description="A table is held back until its spread is within so many points for every second that its oldest "
        "ticket has waited; less means better tables and longer waits, 0 holds nothing back.",
    )
    larger_table_wait_seconds: float = Field(
        3.0, ge=0, description="How long a player waits for the largest accepted table before a smaller one is made."
    )
    bot_fill_wait_seconds: float = Field(
        8.0, ge=0, description="How long a player who allows bots waits before they fill the table."
    )
    bot_ratings: str = Field(
        "easy=850,normal=1000,hard=1150",
        description="The bot profiles that may fill seats, each with the rating it starts with.",
    )

    ticket_idle_seconds: float = Field(
        30.0, ge=1, description="A waiting ticket expires when nobody has watched or read it for so long."
    )
    ticket_keep_seconds: float = Field(
        300.0, ge=1, description="How long a ticket that is over, and its assignment, can still be read."
    )
    party_confirm_seconds: float = Field(
        60.0, ge=1, description="A party that is not complete in so long ends; its members may queue again."
    )
    claim_lease_seconds: float = Field(
        5.0, ge=0.1, description="How long a claimed table is left to its process before another takes it over."
    )
    room_timeout_seconds: float = Field(
        3.0, gt=0, description="Longest wait for the game service to create a room, and to be reached."
    )
    room_give_up_seconds: float = Field(
        15.0, ge=0, description="Players wait again when the game service could not even be reached for so long."
    )
    match_pass_seconds: float = Field(
        0.25, ge=0.01, description="Longest time between two passes over the queue; changes bring them on sooner."
    )
    match_dead_seconds: float = Field(
        10.0, ge=0.1, description="NOT_SERVING when no pass over the queue has succeeded for so long."
    )

    rated_rooms: Literal["all", "matched"] = Field(
        "all", description="Which finished matches change ratings: all, or only those that matchmaking made."
    )
    rated_keep_days: int = Field(
        30, ge=2, le=3650, description="How long it is remembered that a match is rated; older ones are never rated."
    )
    player_keep_days: int = Field(
        400, ge=1, le=3650, description="Ratings and records of players without a match for so long are dropped."
    )
    leaderboard_size: int = Field(100_000, ge=1, description="Most players on the leaderboard.")
    rating_redeliver_seconds: float = Field(
        30.0,
        ge=0.1,
        description="A finished match that a replica has taken and not rated is taken again after so long.",
    )

    @field_validator("bot_ratings")
    @classmethod
    def _check_bots(cls, value: str) -> str:
        parse_bot_ratings(value)
        return value

    @model_validator(mode="after")
    def _check_widths(self) -> MatchmakingSettings:
        if self.match_width_max < self.match_width:
            raise ValueError("RAMI_MATCH_WIDTH_MAX must not be below RAMI_MATCH_WIDTH")
        return self

    @property
    def signs_in_guests(self) -> bool:
        """Whether CreateGuest is open."""
        return self.mode is Mode.DEVELOPMENT if self.guests_allowed is None else self.guests_allowed

    @property
    def bot_skills(self) -> dict[str, float]:
        """The bot profiles with the ratings that they start with."""
        return parse_bot_ratings(self.bot_ratings)

    @property
    def policy(self) -> MatchPolicy:
        """Who may sit with whom."""
        return MatchPolicy(
            base_width=self.match_width,
            width_step=self.match_width_step,
            step_ms=round(self.match_width_step_seconds * 1000),
            max_width=self.match_width_max,
            open_ms=round(self.match_open_seconds * 1000),
            larger_table_ms=round(self.larger_table_wait_seconds * 1000),
            bot_fill_ms=round(self.bot_fill_wait_seconds * 1000),
            spread_per_second=self.match_spread_per_second,
        )

    @property
    def times(self) -> TicketTimes:
        """How long tickets and claims last."""
        return TicketTimes(
            idle_ms=round(self.ticket_idle_seconds * 1000),
            keep_ms=round(self.ticket_keep_seconds * 1000),
            lease_ms=round(self.claim_lease_seconds * 1000),
            confirm_ms=round(self.party_confirm_seconds * 1000),
        )


__all__ = ["MatchmakingSettings", "parse_bot_ratings"]
