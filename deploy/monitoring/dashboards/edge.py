"""The edge, in Envoy's own words: who calls, who is turned away, and which services it can use."""

from __future__ import annotations

from typing import Final

from monitoring.objectives import EDGE
from monitoring.panels import Dashboard, Panel, Query, Row, percentiles, quantile, rate

SERVICES: Final = 'envoy_cluster_name!="admin"'
MILLISECONDS: Final = "ms"

EDGE_DASHBOARD: Final = Dashboard(
    uid="rami-edge",
    title="Rami / Edge",
    about="Envoy: what players send, what is refused before a service sees it, and the services behind it.",
    rows=(
        Row(
            "Players",
            (
                Panel(
                    "Requests by class of the HTTP code",
                    (
                        Query(
                            rate(f"envoy_http_downstream_rq_xx{{{EDGE}}}", "envoy_response_code_class"),
                            "{{envoy_response_code_class}}xx",
                        ),
                    ),
                    "reqps",
                    about="A refusal in gRPC has code 200 and a status of its own.",
                ),
                Panel(
                    "Refused at the edge",
                    (
                        Query(rate("envoy_http_local_rate_limit_rate_limited"), "too many of one address"),
                        Query(
                            rate(f"envoy_http_adaptive_concurrency_gradient_controller_rq_blocked{{{EDGE}}}"),
                            "services too slow",
                        ),
                        Query(
                            rate(f"envoy_cluster_upstream_rq_pending_overflow{{{SERVICES}}}"),
                            "too many streams or calls",
                        ),
                    ),
                    "reqps",
                ),
                Panel(
                    "Connections",
                    (Query(f"sum by (instance) (envoy_http_downstream_cx_active{{{EDGE}}})", "{{instance}}"),),
                ),
                Panel(
                    "Open streams and calls",
                    (
                        Query(
                            f"sum by (envoy_cluster_name) (envoy_cluster_upstream_rq_active{{{SERVICES}}})",
                            "{{envoy_cluster_name}}",
                        ),
                    ),
                ),
                Panel("Time of calls", percentiles("envoy_cluster_upstream_rq_time", SERVICES), MILLISECONDS),
                Panel(
                    "Calls that may wait at once",
                    (
                        Query(
                            "min by (instance)"
                            f" (envoy_http_adaptive_concurrency_gradient_controller_concurrency_limit{{{EDGE}}})",
                            "{{instance}}",
                        ),
                    ),
                    about="The limit that the edge finds for itself; low is slow.",
                ),
            ),
        ),
        Row(
            "Services behind it",
            (
                Panel(
                    "Replicas that are well",
                    (
                        Query(
                            f"min by (envoy_cluster_name) (envoy_cluster_membership_healthy{{{SERVICES}}})",
                            "{{envoy_cluster_name}}",
                        ),
                    ),
                ),
                Panel(
                    "Replicas left out",
                    (
                        Query(
                            "max by (envoy_cluster_name)"
                            f" (envoy_cluster_outlier_detection_ejections_active{{{SERVICES}}})",
                            "{{envoy_cluster_name}}",
                        ),
                    ),
                    bad_from=1,
                ),
                Panel(
                    "Health checks that failed",
                    (
                        Query(
                            rate(f"envoy_cluster_health_check_failure{{{SERVICES}}}", "envoy_cluster_name"),
                            "{{envoy_cluster_name}}",
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Calls to services",
                    (
                        Query(
                            rate(f"envoy_cluster_upstream_rq_total{{{SERVICES}}}", "envoy_cluster_name"),
                            "{{envoy_cluster_name}}",
                        ),
                    ),
                    "reqps",
                ),
                Panel(
                    "Sent again, and connections that failed",
                    (
                        Query(rate(f"envoy_cluster_upstream_rq_retry{{{SERVICES}}}"), "sent again"),
                        Query(rate(f"envoy_cluster_upstream_cx_connect_fail{{{SERVICES}}}"), "no connection"),
                    ),
                    "ops",
                ),
                Panel(
                    "Time of calls, p99",
                    (
                        Query(
                            quantile(0.99, "envoy_cluster_upstream_rq_time", "envoy_cluster_name", SERVICES),
                            "{{envoy_cluster_name}}",
                        ),
                    ),
                    MILLISECONDS,
                ),
            ),
        ),
        Row(
            "Envoy",
            (
                Panel("Memory", (Query("sum by (instance) (envoy_server_memory_allocated)", "{{instance}}"),), "bytes"),
                Panel("Running since", (Query("min by (instance) (envoy_server_uptime)", "{{instance}}"),), "s"),
            ),
        ),
    ),
)
