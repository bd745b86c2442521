"""The forms of recording rules and alerts, and what Prometheus reads of them.

An alert is built of conditions whose queries return data at all times, so that a test can run them against a healthy
cluster: a query that finds nothing because of a typing error would never fire, and nobody would notice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from monitoring.site import RUNBOOK


@dataclass(frozen=True, slots=True)
class Recording:
    """A query whose result is kept under a name of its own: rami:<what>:<how>."""

    name: str
    query: str

    def as_rule(self) -> dict[str, Any]:
        return {"record": self.name, "expr": self.query}


@dataclass(frozen=True, slots=True)
class Condition:
    """A query and what makes it bad, such as "> 0.05"."""

    query: str
    bound: str

    @property
    def expression(self) -> str:
        return f"{self.query} {self.bound}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that explains other alerts, and has one of its own, which then is the only one that is told."""

    condition: Condition
    alert: str
    job: str = ""
    """The one of this job; empty where the alert has none."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that a person has to do something about."""

    name: str
    conditions: tuple[Condition, ...]
    hold: str
    """How long it has to last."""
    severity: str
    """page: now. ticket: in working hours."""
    summary: str
    """What is wrong, in a sentence; {{ $labels.x }} stands for a label of the first query."""
    but_not_while: tuple[Cause, ...] = field(default=())

    @property
    def expression(self) -> str:
        bad = " and ".join(condition.expression for condition in self.conditions)
        if not self.but_not_while:
            return bad
        causes = " or ".join(cause.condition.expression for cause in self.but_not_while)
        return f"({bad}) unless on () ({causes})"

    @property
    def runbook(self) -> str:
        """The entry of the runbook."""
        return f"{RUNBOOK}#{self.name.lower()}"

    def as_rule(self) -> dict[str, Any]:
        return {
            "alert": f"Rami{self.name}",
            "expr": self.expression,
            "for": self.hold,
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.summary, "runbook_url": self.runbook},
        }


def group(name: str, rules: tuple[Recording, ...] | tuple[Alert, ...]) -> dict[str, Any]:
    """Rules that are evaluated one after the other."""
    return {"name": name, "rules": [rule.as_rule() for rule in rules]}
