"""The settings of matchmaking and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from matchmaking.config import MatchmakingSettings
from rami_kit.settings import describe_settings
from rami_kit.testing import make_settings


def settings(**values: Any) -> MatchmakingSettings:
    return make_settings(MatchmakingSettings, "redis://127.0.0.1:6379/0", **values)


def test_defaults_are_the_documented_ones() -> None:
    policy, times = settings().policy, settings().times
    assert (policy.base_width, policy.width_step, policy.step_ms, policy.max_width) == (100, 50, 10_000, 500)
    assert (policy.larger_table_ms, policy.bot_fill_ms, policy.open_ms) == (3_000, 8_000, 120_000)
    assert (times.idle_ms, times.keep_ms, times.lease_ms) == (30_000, 300_000, 5_000)
    assert MatchmakingSettings.model_fields["port"].default == 7003
    assert MatchmakingSettings.model_fields["metrics_port"].default == 9103


def test_seconds_become_milliseconds() -> None:
    changed = settings(
        bot_fill_wait_seconds=1.5, match_width_step_seconds=2.0, ticket_idle_seconds=4.0, claim_lease_seconds=0.5
    )
    assert (changed.policy.bot_fill_ms, changed.policy.step_ms) == (1_500, 2_000)
    assert (changed.times.idle_ms, changed.times.lease_ms) == (4_000, 500)


def test_bots_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings().bot_skills == {"easy": 850, "normal": 1000, "hard": 1150}
    monkeypatch.setenv("RAMI_BOT_RATINGS", "gentle=700, fierce=1400.5")
    assert settings().bot_skills == {"gentle": 700, "fierce": 1400.5}


@pytest.mark.parametrize(
    "values",
    [
        {"bot_ratings": ""},
        {"bot_ratings": "easy"},
        {"bot_ratings": "Bad Name=1"},
        {"bot_ratings": "easy=nan"},
        {"bot_ratings": "easy=1,easy=2"},
        {"bot_ratings": "easy=1,"},
        {"match_width": -1},
        {"match_width": 600},
        {"match_width_step_seconds": 0},
        {"bot_fill_wait_seconds": -1},
        {"ticket_idle_seconds": 0},
        {"claim_lease_seconds": 0},
        {"rated_rooms": "some"},
        {"rated_keep_days": 1},
        {"leaderboard_size": 0},
    ],
)
def test_settings_outside_their_ranges_stop_the_start(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings(**values)


def test_every_setting_is_described() -> None:
    rows = {row.env: row for row in describe_settings(MatchmakingSettings)}
    assert all(row.description for row in rows.values())
    assert rows["RAMI_BOT_FILL_WAIT_SECONDS"].default == "8.0"
    assert {"RAMI_GUESTS_ALLOWED", "RAMI_MATCH_DEAD_SECONDS", "RAMI_RATED_ROOMS"} <= set(rows)
