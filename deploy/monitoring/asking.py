"""Asking a Prometheus: what a query returns now, and what it returned over the last minutes."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final, NamedTuple

TIMEOUT_SECONDS: Final = 20.0


class QueryError(Exception):
    """Prometheus cannot be reached, or says that a query is wrong; the text is its own."""


class Line(NamedTuple):
    """One series of an answer."""

    labels: dict[str, str]
    points: list[tuple[float, float]]
    """Unix seconds and value, finite values only."""


def instant(address: str, query: str) -> list[Line]:
    """What a query returns now; a series without a finite value is left out."""
    result = _ask(address, "query", query=query)
    if result["resultType"] == "scalar":
        return _finite({}, [result["result"]])
    return [line for row in result["result"] for line in _finite(row["metric"], [row["value"]])]


def over_time(address: str, query: str, begin: float, end: float, step: float) -> list[Line]:
    """What a query returned between two moments (Unix seconds), every `step` seconds."""
    result = _ask(address, "query_range", query=query, start=begin, end=end, step=step)
    return [line for row in result["result"] for line in _finite(row["metric"], row["values"])]


def _finite(labels: dict[str, str], values: list[list[Any]]) -> list[Line]:
    points = [(float(moment), float(value)) for moment, value in values]
    finite = [point for point in points if math.isfinite(point[1])]
    return [Line(labels, finite)] if finite else []


def _ask(address: str, what: str, **parameters: str | float) -> dict[str, Any]:
    """The data of an answer. `address` is http://host:port."""
    url = f"{address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - an operator's own address
            told = json.load(answer)
    except urllib.error.HTTPError as error:
        raise QueryError(f"{parameters['query']}: {error.read().decode(errors='replace')}") from None
    except OSError as error:
        raise QueryError(f"{address} does not answer: {error}") from None
    data: dict[str, Any] = told["data"]
    return data
