"""The settings of the AI service."""

from __future__ import annotations

import os
from typing import ClassVar

from pydantic import Field

from rami_kit.settings import ServiceSettings


class AiSettings(ServiceSettings):
    """What the AI service is told from outside."""

    needs_store: ClassVar[bool] = False

    port: int = Field(default=7002, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    metrics_port: int = Field(
        default=9102, ge=0, le=65535, description="Port of the Prometheus page; 0 picks a free one."
    )
    workers: int = Field(default=1, ge=0, le=256, description="Worker processes that decide; 0 = one per CPU.")
    queue_limit: int = Field(
        default=64, ge=1, le=10_000, description="Most decisions that wait for a worker; one more is refused at once."
    )
    worker_recycle_decisions: int = Field(
        default=100_000, ge=0, description="A worker is replaced after so many decisions; 0 = never."
    )
    worker_start_seconds: float = Field(
        default=30.0, gt=0, le=600, description="Longest time for a worker to start; then it is ended and tried again."
    )

    @property
    def worker_count(self) -> int:
        """Worker processes to run."""
        return self.workers or os.cpu_count() or 1
