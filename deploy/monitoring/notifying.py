"""Who is told of an alert, when, and which alerts stay silent because another explains them: Alertmanager's file.

Rules leave out most of what a cause explains (`but_not_while`). What they cannot leave out, since it begins before its
cause is certain or ends after it, is held back here: whoever is woken is woken once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from monitoring.alerts import ALERTS
from monitoring.objectives import OBJECTIVES
from monitoring.site import RECEIVERS

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGES, TICKETS = "pages", "tickets"


@dataclass(frozen=True, slots=True)
class Inhibition:
    """While one alert fires, others are not told."""

    source: str
    targets: tuple[str, ...]
    job: str = ""
    """Only that of this job."""
    equal: tuple[str, ...] = ()
    """Labels that both must have alike."""

    def as_rule(self) -> dict[str, Any]:
        job = [f'job="{self.job}"'] if self.job else []
        rule = {
            "source_matchers": [f'alertname="Rami{self.source}"', *job],
            "target_matchers": [f'alertname=~"{"|".join(f"Rami{name}" for name in self.targets)}"'],
        }
        return rule | ({"equal": list(self.equal)} if self.equal else {})


_STORE_AFTERMATH: Final = (
    "CommitConflicts",
    "Fallbacks",
    "LoopSlow",
    "MatchWaitsLong",
    "RatingsFailing",
    "StoreReplicaMissing",
    "EdgeRetrying",
)
"""What is heard while a store comes back, and everybody with it."""


def _explained() -> Iterable[Inhibition]:
    targets: dict[tuple[str, str], list[str]] = {}
    for alerts in ALERTS.values():
        for alert in alerts:
            for cause in alert.but_not_while:
                targets.setdefault((cause.alert, cause.job), []).append(alert.name)
    for (source, job), names in targets.items():
        more = _STORE_AFTERMATH if source == "StoreAway" else ()
        yield Inhibition(source, (*names, *more), job)


INHIBITIONS: Final = (
    *_explained(),
    *(Inhibition(f"{objective.name}Fast", (f"{objective.name}Slow",)) for objective in OBJECTIVES),
    Inhibition("ServiceDown", ("InstanceDown",), equal=("job",)),
    Inhibition("NoWorkers", ("DecisionQueueOld", "DecisionsRefused", "BotTurnsFast", "BotTurnsSlow")),
    Inhibition("ActionLatencyFast", ("EdgeOverloaded",)),
)


def alertmanager() -> dict[str, Any]:
    """The whole configuration."""
    return {
        "route": {
            "receiver": TICKETS,
            # One message for all that is wrong with one thing: of a service, not of each of its pods.
            "group_by": ["alertname", "job"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "24h",
            "routes": [
                {
                    "receiver": PAGES,
                    "matchers": ['severity="page"'],
                    "group_wait": "10s",
                    "repeat_interval": "1h",
                }
            ],
        },
        "inhibit_rules": [each.as_rule() for each in INHIBITIONS],
        "receivers": [{"name": name, **RECEIVERS[name]} for name in (PAGES, TICKETS)],
    }
