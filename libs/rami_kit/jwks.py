"""The public keys of an operator's identity provider: a JWKS file that may change while the service runs.

Each key is pinned to the algorithm that its JWK names, has to have a name, and must be public: a symmetric
key in this file would let everybody who reads it make players. A file that turns unreadable later leaves the
keys as they were and is complained about in the log.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

MIN_RSA_BITS: Final = 2048
REFRESH_SECONDS: Final = 1.0
MAX_FILE_BYTES: Final = 1 << 20

_log = logging.getLogger(__name__)


class JwksError(ValueError):
    """A JWKS file that cannot be used; the text says why in one line."""


class PublicKey(NamedTuple):
    """One key and the only algorithm that it verifies."""

    key: Any
    algorithm: str


class JwksFile:
    """The keys of one file by name. Raises JwksError when first read; later changes are picked up."""

    def __init__(self, path: str, *, refresh_seconds: float = REFRESH_SECONDS) -> None:
        self._path = path
        self._refresh_seconds = refresh_seconds
        self._checked_at = time.monotonic()
        self._stamp = self._look()
        self._keys = read_jwks(path)

    def find(self, kid: object) -> PublicKey | None:
        """The key of a name; None for an unknown one."""
        return self._keys.get(kid) if isinstance(kid, str) else None

    def refresh(self) -> bool:
        """Reads the file again if it has changed since the last look, which is at most one a second.

        Returns whether the keys are others now. The file is small and local: looking blocks for microseconds.
        """
        now = time.monotonic()
        if now - self._checked_at < self._refresh_seconds:
            return False
        self._checked_at = now
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._keys = read_jwks(self._path)
        except JwksError as error:
            _log.error("the JWKS file has changed and cannot be used; its former keys stay: %s", error)
            return False
        _log.info("the JWKS file has changed: %d keys", len(self._keys))
        return True

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = Path(self._path).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def read_jwks(path: str) -> dict[str, PublicKey]:
    """The keys of a JWKS file by name. Raises JwksError."""
    try:
        with Path(path).open("rb") as file:
            document = json.loads(file.read(MAX_FILE_BYTES))
        entries = document["keys"]
    except OSError as error:
        raise JwksError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise JwksError(f"{path}: is no JWKS document") from None
    if not isinstance(entries, list) or not entries:
        raise JwksError(f"{path}: has no keys")
    keys: dict[str, PublicKey] = {}
    for number, entry in enumerate(entries, start=1):
        kid, key = _read_key(f"{path}: key {number}", entry)
        if kid in keys:
            raise JwksError(f"{path}: key {number} has the name of another")
        keys[kid] = key
    return keys


def _read_key(place: str, entry: Any) -> tuple[str, PublicKey]:
    if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str) or not entry["kid"]:
        raise JwksError(f"{place} has no name (kid)")
    algorithm = entry.get("alg")
    if algorithm not in {"EdDSA", "RS256"}:
        raise JwksError(f"{place}: its alg is neither EdDSA nor RS256")
    if "d" in entry or "k" in entry:
        raise JwksError(f"{place} is a secret key: only public keys belong here")
    try:
        key = jwt.PyJWK(entry).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        raise JwksError(f"{place} is no usable key") from None
    if algorithm == "EdDSA" and isinstance(key, Ed25519PublicKey):
        return entry["kid"], PublicKey(key, algorithm)
    if algorithm == "RS256" and isinstance(key, RSAPublicKey):
        if key.key_size < MIN_RSA_BITS:
            raise JwksError(f"{place} has fewer than {MIN_RSA_BITS} bits")
        return entry["kid"], PublicKey(key, algorithm)
    raise JwksError(f"{place} is no key of its alg")


__all__ = ["JwksError", "JwksFile", "PublicKey", "read_jwks"]
