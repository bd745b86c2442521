"""Who may call a method: the one question that is answered before a handler runs.

A servicer is registered with the access of its service and with exceptions for single methods. A method
without an access does not exist: the interceptor refuses to serve what nobody declared.
"""

from __future__ import annotations

from enum import Enum


class Access(Enum):
    """What a caller must show to reach a method."""

    PUBLIC = "public"
    """Nothing: a token is not even looked at. Reflection, rule sheets, signing in a guest."""
    PROBE = "probe"
    """Nothing, and as often as they like. Health: an orchestrator that is told "too often" ends a healthy process."""
    PLAYER = "player"
    """A player's token. Service tokens are refused: a service has no seat."""
    SERVICE = "service"
    """A token of another service, made out to this one."""


__all__ = ["Access"]
