"""Redis as the services see it, and the processes themselves."""

from __future__ import annotations

from typing import Final

from monitoring.objectives import JOBS
from monitoring.panels import Dashboard, Panel, Query, Row, percentiles, quantile, rate

RUNTIME_DASHBOARD: Final = Dashboard(
    uid="rami-runtime",
    title="Rami / Redis and runtime",
    about="The store as the services see it and as it reports itself; memory, CPU and event loops of every process.",
    rows=(
        Row(
            "Calls to the store",
            (
                Panel("Calls", (Query(rate("rami_store_calls_total", "command"), "{{command}}"),), "ops"),
                Panel(
                    "Calls that failed",
                    (Query(rate('rami_store_calls_total{outcome!="ok"}', "outcome"), "{{outcome}}"),),
                    "ops",
                ),
                Panel("Time of calls", percentiles("rami_store_seconds"), "s"),
                Panel(
                    "Time of calls, p99", (Query(quantile(0.99, "rami_store_seconds", "command"), "{{command}}"),), "s"
                ),
                Panel("Calls sent as one batch", percentiles("rami_store_batch_size_calls")),
                Panel(
                    "Connections, and calls that wait for one",
                    (
                        Query("sum by (job) (rami_store_connections)", "connections of {{job}}"),
                        Query("sum by (job) (rami_store_waiting_calls)", "waiting in {{job}}"),
                    ),
                ),
                Panel(
                    "Reconnects",
                    (
                        Query(rate("rami_store_subscriber_connects_total"), "subscribers"),
                        Query(rate("rami_store_script_loads_total"), "scripts loaded"),
                    ),
                    "ops",
                ),
                Panel("The store answers", (Query("min by (job) (rami_store_up_info)", "{{job}}"),)),
            ),
        ),
        Row(
            "Servers of the store",
            (
                Panel(
                    "Memory",
                    (
                        Query("max by (server) (rami_store_server_memory_bytes)", "{{server}}"),
                        Query("max by (server) (rami_store_server_memory_limit_bytes)", "limit of {{server}}"),
                    ),
                    "bytes",
                ),
                Panel("Keys", (Query("max by (server) (rami_store_server_keys)", "{{server}}"),)),
                Panel(
                    "Commands",
                    (Query("max by (server) (deriv(rami_store_server_commands[5m]))", "{{server}}"),),
                    "ops",
                ),
                Panel("Clients", (Query("max by (server) (rami_store_server_clients)", "{{server}}"),)),
                Panel(
                    "Keys thrown away",
                    (Query("max by (server) (rami_store_server_evicted_keys)", "{{server}}"),),
                    bad_from=1,
                ),
                Panel(
                    "Replicas, and whether it can write",
                    (
                        Query("min by (server) (rami_store_server_replicas)", "replicas of {{server}}"),
                        Query("min by (server) (rami_store_server_persistence_ok_info)", "{{server}} writes"),
                    ),
                ),
            ),
        ),
        Row(
            "Processes",
            (
                Panel(
                    "CPU",
                    (
                        Query(
                            f"sum by (job, instance) (rate(process_cpu_seconds_total{{{JOBS}}}[$__rate_interval]))",
                            "{{job}} {{instance}}",
                        ),
                    ),
                ),
                Panel(
                    "Memory of processes",
                    (Query(f"process_resident_memory_bytes{{{JOBS}}}", "{{job}} {{instance}}"),),
                    "bytes",
                ),
                Panel("Open files", (Query(f"process_open_fds{{{JOBS}}}", "{{job}} {{instance}}"),)),
                Panel(
                    "Event loop late by, p99",
                    (Query("rami:loop_delay_seconds:p99_5m", "{{job}} {{instance}}"),),
                    "s",
                    bad_from=0.25,
                ),
                Panel("Garbage collections", (Query(rate("python_gc_collections_total", "job"), "{{job}}"),), "ops"),
                Panel("Calls under way", (Query("sum by (job) (rami_grpc_in_flight)", "{{job}}"),)),
                Panel(
                    "Draining since",
                    (Query("max by (job, instance) (rami_app_draining_seconds)", "{{job}} {{instance}}"),),
                    "s",
                ),
                Panel("Checks that hold", (Query("min by (job, check) (rami_app_check_info)", "{{job}} {{check}}"),)),
                Panel(
                    "Background tasks that crashed",
                    (Query(rate("rami_task_crashes_total", "job, task"), "{{job}} {{task}}"),),
                    "ops",
                ),
            ),
        ),
    ),
)
