"""The forms of dashboards, and the JSON that Grafana reads of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
PANEL_HEIGHT: Final = 8
STAT_HEIGHT: Final = 4
GRID: Final = 24
RATE_INTERVAL: Final = "$__rate_interval"
"""Grafana puts in a window that holds several scrapes."""
SCHEMA: Final = 39
"""Of the dashboards of Grafana 10 and later."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is drawn, and how each line of it is called: {{label}} stands for a label."""

    text: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph; with `stat` the latest number in large."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    """Grafana's name: s, ms, reqps, percentunit, bytes, short."""
    width: int = 8
    stat: bool = False
    bad_from: float | None = None
    """Where the number turns red."""
    about: str = ""

    def as_json(self, number: int, x: int, y: int) -> dict[str, Any]:
        steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
        if self.bad_from is not None:
            steps.append({"color": "red", "value": self.bad_from})
        options: dict[str, Any] = (
            {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"}
            if self.stat
            else {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
        )
        custom = {} if self.stat else {"custom": {"fillOpacity": 8, "showPoints": "never"}}
        return {
            "id": number,
            "title": self.title,
            "description": self.about,
            "type": "stat" if self.stat else "timeseries",
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": STAT_HEIGHT if self.stat else PANEL_HEIGHT},
            "fieldConfig": {
                "defaults": {
                    "unit": self.unit,
                    "min": 0,
                    "thresholds": {"mode": "absolute", "steps": steps},
                    **custom,
                },
                "overrides": [],
            },
            "options": options,
            "targets": [
                {"refId": chr(ord("A") + place), "expr": query.text, "legendFormat": query.legend, "datasource": SOURCE}
                for place, query in enumerate(self.queries)
            ],
        }


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading, from left to right; those that do not fit go below."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of Grafana."""

    uid: str
    title: str
    about: str
    rows: tuple[Row, ...]

    @property
    def panels(self) -> list[Panel]:
        """All of them, in order."""
        return [panel for row in self.rows for panel in row.panels]

    def as_json(self) -> dict[str, Any]:
        placed: list[dict[str, Any]] = []
        y = 0
        for row in self.rows:
            placed.append(
                {
                    "id": len(placed) + 1,
                    "type": "row",
                    "title": row.title,
                    "collapsed": False,
                    "gridPos": {"x": 0, "y": y, "w": GRID, "h": 1},
                    "panels": [],
                }
            )
            x, y, lowest = 0, y + 1, 0
            for panel in row.panels:
                if x + panel.width > GRID:
                    x, y, lowest = 0, y + lowest, 0
                placed.append(panel.as_json(len(placed) + 1, x, y))
                x += panel.width
                lowest = max(lowest, STAT_HEIGHT if panel.stat else PANEL_HEIGHT)
            y += lowest
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.about,
            "tags": ["rami"],
            "editable": False,
            "schemaVersion": SCHEMA,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "browser",
            "templating": {
                "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
            },
            "links": [{"type": "dashboards", "title": "Rami", "tags": ["rami"], "asDropdown": True, "keepTime": True}],
            "annotations": {"list": []},
            "panels": placed,
        }


def rate(series: str, by: str = "") -> str:
    """The summed rate of counters, such as `rami_x_total{a="b"}`."""
    return f"sum{_by(by)}(rate({series}[{RATE_INTERVAL}]))"


def quantile(share: float, histogram: str, by: str = "", having: str = "") -> str:
    """A percentile of a histogram, by the name it has without _bucket."""
    labels = f"{by}, le" if by else "le"
    buckets = f"{histogram}_bucket{{{having}}}" if having else f"{histogram}_bucket"
    return f"histogram_quantile({share}, {rate(buckets, labels)})"


def percentiles(histogram: str, having: str = "") -> tuple[Query, ...]:
    """The median, and what one in twenty and one in a hundred exceed."""
    return tuple(Query(quantile(share, histogram, having=having), f"p{share * 100:g}") for share in (0.5, 0.95, 0.99))


def _by(labels: str) -> str:
    return f" by ({labels}) " if labels else ""
