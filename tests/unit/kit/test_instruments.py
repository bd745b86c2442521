from __future__ import annotations

import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from rami_kit.instruments import Family, Histogram, counter, gauge, histogram
from rami_kit.metrics import AiMetrics, GameMetrics, MatchmakingMetrics, Metrics, StoreMetrics
from rami_kit.metrics_page import start_metrics_server

FORBIDDEN_LABELS = {"room", "room_id", "player", "player_id", "ticket", "ticket_id", "request_id", "peer", "token"}
UNITS = ("_total", "_seconds", "_bytes", "_ratio", "_points", "_calls", "_info", "_in_flight")
COUNTED = ("clients", "commands", "connections", "depth", "keys", "replicas", "rooms", "tickets", "watchers", "workers")
"""What gauges count, which has no unit."""
PARTS_OF_A_HISTOGRAM = ("_bucket", "_count", "_sum")


def test_counters_gauges_and_histograms_are_exposed() -> None:
    registry = CollectorRegistry()
    made = counter(registry, "rami_test_things_total", "Things.", "kind")
    made.labels("a").inc()
    made.labels("a").inc(2)
    level = gauge(registry, "rami_test_level", "Level.").labels()
    level.set(5)
    level.inc()
    level.dec(2)
    took = histogram(registry, "rami_test_seconds", "Time.", "kind", buckets=(0.1, 1.0)).labels("b")
    for value in (0.05, 0.1, 0.5, 7.0):
        took.observe(value)
    page = generate_latest(registry).decode()
    assert 'rami_test_things_total{kind="a"} 3.0' in page
    assert "rami_test_level 4.0" in page
    assert 'rami_test_seconds_bucket{kind="b",le="0.1"} 2.0' in page
    assert 'rami_test_seconds_bucket{kind="b",le="1.0"} 3.0' in page
    assert 'rami_test_seconds_bucket{kind="b",le="+Inf"} 4.0' in page
    assert 'rami_test_seconds_count{kind="b"} 4.0' in page
    assert registry.get_sample_value("rami_test_seconds_sum", {"kind": "b"}) == pytest.approx(7.65)


@given(st.lists(st.floats(0, 100), max_size=50))
def test_every_observation_is_in_exactly_one_bucket(values: list[float]) -> None:
    bounds = (0.5, 1.0, 10.0)
    child = Histogram(bounds)
    for value in values:
        child.observe(value)
    assert child.count == len(values)
    for index, bound in enumerate(bounds):
        assert sum(child.counts[: index + 1]) == sum(value <= bound for value in values)


def test_a_family_has_one_child_for_each_set_of_labels() -> None:
    family = counter(CollectorRegistry(), "rami_test_things_total", "Things.", "a", "b")
    assert family.labels("x", "y") is family.labels("x", "y")
    assert family.labels("x", "y") is not family.labels("y", "x")
    with pytest.raises(ValueError, match="labels"):
        family.labels("x")


def test_a_metric_without_labels_shows_from_the_start() -> None:
    registry = CollectorRegistry()
    counter(registry, "rami_test_things_total", "Things.")
    assert registry.get_sample_value("rami_test_things_total") == 0


def test_the_same_name_twice_is_refused() -> None:
    registry = CollectorRegistry()
    counter(registry, "rami_test_things_total", "Things.")
    with pytest.raises(ValueError, match="Duplicated"):
        counter(registry, "rami_test_things_total", "Things.")


def test_every_metric_follows_the_naming_rule() -> None:
    metrics = Metrics()
    for group in (GameMetrics, AiMetrics, MatchmakingMetrics, StoreMetrics):
        group(metrics.registry)
    ours = [family for family in metrics.registry.collect() if family.name.startswith("rami_")]
    assert len(ours) > 30
    for family in ours:
        assert family.documentation.endswith(".")
        assert family.type == "counter" or family.name.endswith((*UNITS, *COUNTED)), family.name
        assert not family.name.endswith(PARTS_OF_A_HISTOGRAM), family.name


def test_no_metric_has_a_label_that_grows() -> None:
    metrics = Metrics()
    groups = [metrics.grpc, metrics.store, metrics.tasks, metrics.app]
    groups += [group(metrics.registry) for group in (GameMetrics, AiMetrics, MatchmakingMetrics)]
    families = [family for group in groups for family in vars(group).values()]
    labels = {label for family in families if isinstance(family, Family) for label in family._labels}
    assert labels
    assert not labels & FORBIDDEN_LABELS


def test_the_page_is_served_on_a_free_port_and_ends() -> None:
    metrics = Metrics()
    server = start_metrics_server(metrics)
    url = f"http://127.0.0.1:{server.port}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            page = answer.read().decode()
        assert "rami_store_" not in page, "a service without a store shows nothing of one"
        assert "process_cpu_seconds_total" in page
        with pytest.raises(OSError, match="in use"):
            start_metrics_server(metrics, port=server.port)
    finally:
        server.close()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=60)


def test_what_is_prepared_shows_as_zero_and_what_is_dropped_no_longer() -> None:
    registry = CollectorRegistry()
    family = counter(registry, "rami_test_things_total", "Things.", "kind", "outcome")
    family.labels("a", "ok").inc()
    family.prepare(("a", "b"), ("ok", "error"))
    values = {
        (kind, outcome): registry.get_sample_value("rami_test_things_total", {"kind": kind, "outcome": outcome})
        for kind in "ab"
        for outcome in ("ok", "error")
    }
    assert values == {("a", "ok"): 1, ("a", "error"): 0, ("b", "ok"): 0, ("b", "error"): 0}
    family.drop("a", "ok")
    family.drop("never", "there")
    assert registry.get_sample_value("rami_test_things_total", {"kind": "a", "outcome": "ok"}) is None
