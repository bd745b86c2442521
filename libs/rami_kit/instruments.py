"""Counters, gauges and histograms that cost a few hundred nanoseconds, exposed through prometheus_client.

An RPC touches five of them and a commit two more, on the one thread of the event loop. prometheus_client's
own take a lock and walk every bucket at each observation; these are plain numbers, because only the event
loop writes them and the thread that serves the Prometheus page only reads. A page may therefore show one
number of a histogram a moment before another; none is ever lost. Children are looked up once and kept:
`family.labels("ok")` at start, `child.inc()` on the way.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, amount: float = 1) -> None:
        self.value += amount


class Gauge:
    """A number that rises and falls."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, amount: float = 1) -> None:
        self.value += amount

    def dec(self, amount: float = 1) -> None:
        self.value -= amount

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """How many observations fell into each bucket, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        # A bucket holds what is at most its bound, so an observation equal to a bound belongs to it.
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """All observations."""
        return sum(self.counts)


ChildT = TypeVar("ChildT", Counter, Gauge, Histogram)


class Family(Collector, Generic[ChildT]):
    """All children of one metric by the values of its labels. Label values come from code, never from
    requests.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        name: str,
        documentation: str,
        labels: Sequence[str],
        make_child: Callable[[], ChildT],
    ) -> None:
        self.name: Final = name
        self._documentation = documentation
        self._labels = tuple(labels)
        self._make_child: Callable[[], ChildT] = make_child
        self._children: dict[tuple[str, ...], ChildT] = {}
        if not labels:
            self.labels()  # a metric without labels shows as zero from the start
        registry.register(self)

    def labels(self, *values: str) -> ChildT:
        """The child with these label values, made on first use. Raises ValueError for a wrong number."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self._labels):
                raise ValueError(f"{self.name} has the labels {self._labels}, got {values}")
            child = self._children[values] = self._make_child()
        return child

    def prepare(self, *values: Iterable[str]) -> None:
        """Shows a zero for every combination of these label values, given label by label.

        A series that begins with its first event hides this event from every rate, and what an alert looks for is
        missing until it has happened once.
        """
        for combination in product(*values):
            self.labels(*combination)

    def drop(self, *values: str) -> None:
        """Shows the child with these label values no longer; it may be made anew."""
        self._children.pop(values, None)

    def collect(self) -> Iterable[Metric]:
        children = list(self._children.items())
        if self._make_child is Counter:
            counters = CounterMetricFamily(self.name, self._documentation, labels=self._labels)
            for values, child in children:
                assert isinstance(child, Counter)
                counters.add_metric(values, child.value)
            yield counters
        elif self._make_child is Gauge:
            gauges = GaugeMetricFamily(self.name, self._documentation, labels=self._labels)
            for values, child in children:
                assert isinstance(child, Gauge)
                gauges.add_metric(values, child.value)
            yield gauges
        else:
            histograms = HistogramMetricFamily(self.name, self._documentation, labels=self._labels)
            for values, child in children:
                assert isinstance(child, Histogram)
                histograms.add_metric(values, _cumulated(child), child.total)
            yield histograms

    def describe(self) -> Iterable[Metric]:
        # The registry refuses a second family of the same name because of this.
        return self.collect()


class ReadGauge(Collector):
    """A gauge that is read when the page is, by a function that any thread may call; 0 before it has one."""

    def __init__(self, registry: CollectorRegistry, name: str, documentation: str) -> None:
        self.name: Final = name
        self._documentation = documentation
        self._read: Callable[[], float] = float
        registry.register(self)

    def read_from(self, function: Callable[[], float]) -> None:
        """Where the value comes from, from now on."""
        self._read = function

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(self.name, self._documentation, value=self._read())


def counter(registry: CollectorRegistry, name: str, documentation: str, *labels: str) -> Family[Counter]:
    """A family of counters; its name ends in _total."""
    return Family(registry, name, documentation, labels, Counter)


def gauge(registry: CollectorRegistry, name: str, documentation: str, *labels: str) -> Family[Gauge]:
    """A family of gauges."""
    return Family(registry, name, documentation, labels, Gauge)


def histogram(
    registry: CollectorRegistry, name: str, documentation: str, *labels: str, buckets: tuple[float, ...]
) -> Family[Histogram]:
    """A family of histograms with ascending upper bounds; the last bucket, without a bound, is added."""
    return Family(registry, name, documentation, labels, lambda: Histogram(buckets))


def _cumulated(child: Histogram) -> list[tuple[str, float]]:
    rows, total = [], 0
    for bound, count in zip((*child.bounds, inf), list(child.counts), strict=True):
        total += count
        rows.append(("+Inf" if bound == inf else str(bound), float(total)))
    return rows


__all__ = ["Counter", "Family", "Gauge", "Histogram", "ReadGauge", "counter", "gauge", "histogram"]
