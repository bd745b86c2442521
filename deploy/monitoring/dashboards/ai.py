"""The AI service: decisions, the queue before the workers, and the workers."""

from __future__ import annotations

from typing import Final

from monitoring.panels import Dashboard, Panel, Query, Row, percentiles, quantile, rate

AI_DASHBOARD: Final = Dashboard(
    uid="rami-ai",
    title="Rami / AI workers",
    about="Decisions of bots. Scaled by the age of the queue and the busy share.",
    rows=(
        Row(
            "Decisions",
            (
                Panel("Decisions by level", (Query(rate("rami_ai_decisions_total", "level"), "{{level}}"),), "ops"),
                Panel(
                    "Decisions without an answer",
                    (Query(rate('rami_ai_decisions_total{outcome!="ok"}', "outcome"), "{{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Time of decisions, p99",
                    (Query(quantile(0.99, "rami_ai_decision_seconds", "level"), "{{level}}"),),
                    "s",
                ),
            ),
        ),
        Row(
            "Queue",
            (
                Panel("Waiting decisions", (Query("sum by (instance) (rami_ai_queue_depth)", "{{instance}}"),)),
                Panel(
                    "Oldest waiting decision",
                    (Query("max by (instance) (rami_ai_queue_age_seconds)", "{{instance}}"),),
                    "s",
                    bad_from=1,
                ),
                Panel("Time in the queue", percentiles("rami_ai_queue_seconds"), "s"),
            ),
        ),
        Row(
            "Workers",
            (
                Panel(
                    "Busy share", (Query("rami:ai_busy:ratio_rate2m", "of all workers"),), "percentunit", bad_from=0.85
                ),
                Panel("Workers by state", (Query("sum by (state) (rami_ai_workers)", "{{state}}"),)),
                Panel(
                    "Workers that died",
                    (Query(rate("rami_ai_worker_restarts_total", "instance"), "{{instance}}"),),
                    "ops",
                ),
                Panel(
                    "Decisions per second of a busy worker",
                    (
                        Query(
                            f"{rate('rami_ai_decisions_total')} / {rate('rami_ai_worker_busy_seconds_total')}",
                            "decisions",
                        ),
                    ),
                    "ops",
                ),
            ),
        ),
    ),
)
