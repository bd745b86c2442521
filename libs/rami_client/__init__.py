"""The Python client of Rami: sign in, queue, play, watch, and check what was played.

Speaks the public contract over grpc.aio and knows nothing of the services behind it. Start with `Client`.
"""

from __future__ import annotations

from rami_client.bot import Bot, play_match
from rami_client.calls import RetryPolicy
from rami_client.client import Client
from rami_client.errors import (
    AbortedError,
    ActionRefusedError,
    BadChoiceError,
    BadFileError,
    DeadlineExceededError,
    FailedPreconditionError,
    FieldViolation,
    InvalidArgumentError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    RamiClientError,
    ResourceExhaustedError,
    RewoundError,
    RpcError,
    ServerError,
    StaleVersionError,
    SupersededError,
    TableEndedError,
    TicketEndedError,
    UnauthenticatedError,
    UnavailableError,
)
from rami_client.receipt import Receipt
from rami_client.receipt_check import Coverage
from rami_client.replay import Verification, load_replay, save_replay, verify
from rami_client.state import Update
from rami_client.table import Table
from rami_client.walk import Moment, walk
from rami_client.watch import Watch

__all__ = [
    "AbortedError",
    "ActionRefusedError",
    "BadChoiceError",
    "BadFileError",
    "Bot",
    "Client",
    "Coverage",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "FieldViolation",
    "InvalidArgumentError",
    "Moment",
    "NotFoundError",
    "OverloadedError",
    "PermissionDeniedError",
    "RamiClientError",
    "Receipt",
    "ResourceExhaustedError",
    "RetryPolicy",
    "RewoundError",
    "RpcError",
    "ServerError",
    "StaleVersionError",
    "SupersededError",
    "Table",
    "TableEndedError",
    "TicketEndedError",
    "UnauthenticatedError",
    "UnavailableError",
    "Update",
    "Verification",
    "Watch",
    "load_replay",
    "play_match",
    "save_replay",
    "verify",
    "walk",
]
