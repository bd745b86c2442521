"""Log lines: one JSON object a line on stderr, in UTC.

Nothing secret is ever passed in: there is no filter that would take it out again. Tokens, hands, seeds and
raw subjects have no place in a log call, and settings show secrets as stars.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter


class _UtcFormatter(JsonFormatter):
    def __init__(self, service: str) -> None:
        super().__init__("%(message)s")
        self._service = service

    def add_fields(self, log_record: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        log_record["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_record["level"] = record.levelname
        log_record["service"] = self._service
        log_record["logger"] = record.name
        super().add_fields(log_record, record, message_dict)


def configure_logging(level: str, service: str) -> None:
    """Sends every logger's lines from `level` up to stderr; replaces what was configured before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_UtcFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


__all__ = ["configure_logging"]
