"""The settings of the game service."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from game_state.config import GameSettings
from rami_engine import Guards
from rami_kit.testing import make_settings

STORE = "redis://127.0.0.1:6379/0"


def test_times_are_whole_milliseconds() -> None:
    times = make_settings(GameSettings, STORE, bot_pace_seconds=0.6, entropy_window_seconds=2.5).times

    assert times.bot_pace_ms == 600
    assert times.entropy_window_ms == 2_500
    assert (times.lobby_ttl_ms, times.match_ttl_ms, times.over_ttl_ms) == (1_800_000, 86_400_000, 3_600_000)
    assert times.lease_ms == 1_000


def test_guards_are_those_of_the_rules_by_default() -> None:
    assert make_settings(GameSettings, STORE).guards == Guards(400, 10_000)


def test_bot_profiles_are_a_list_with_commas() -> None:
    assert make_settings(GameSettings, STORE, bots="easy, hard ,expert").bot_profiles == ("easy", "hard", "expert")
    for wrong in ("", "easy,,hard", " "):
        with pytest.raises(ValidationError):
            make_settings(GameSettings, STORE, bots=wrong)


def test_each_purpose_has_a_key_of_its_own() -> None:
    settings = make_settings(GameSettings, STORE)
    other = make_settings(GameSettings, STORE, service_secret="another-secret-of-the-tests-0123456789")

    assert settings.derived_key("room-id") == make_settings(GameSettings, STORE).derived_key("room-id")
    assert (
        len({settings.derived_key("room-id"), settings.derived_key("policy-seed"), other.derived_key("room-id")}) == 3
    )
