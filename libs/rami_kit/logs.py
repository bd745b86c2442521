"""Log lines: one JSON object a line on stderr, in UTC, with the trace, player and room that the line is about.

Nothing secret is ever passed in: there is no filter that would take it out again. Tokens, hands, seeds and
raw subjects have no place in a log call, and settings show secrets as stars.
"""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from rami_kit.auth import caller_id
from rami_kit.tracing import trace_id

_room_id: ContextVar[str] = ContextVar("room_id", default="")


def set_log_room(room: str) -> None:
    """Name the room in every line that this task logs from here on."""
    if _room_id.get() != room:  # a stream is about one room all the time, and looking costs less than setting
        _room_id.set(room)


def room_id() -> str:
    """The room that the current task is about; empty for none."""
    return _room_id.get()


class _UtcFormatter(JsonFormatter):
    def __init__(self, service: str) -> None:
        super().__init__("%(message)s")
        self._service = service

    def add_fields(self, log_record: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        log_record["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_record["level"] = record.levelname
        log_record["service"] = self._service
        log_record["logger"] = record.name
        about = {"trace_id": trace_id(), "player_id": caller_id(), "room_id": room_id()}
        log_record |= {key: value for key, value in about.items() if value}
        super().add_fields(log_record, record, message_dict)


def configure_logging(level: str, service: str) -> None:
    """Sends every logger's lines from `level` up to stderr; replaces what was configured before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_UtcFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


__all__ = ["configure_logging", "room_id", "set_log_room"]
