"""Tokens under Rami's own keys (HS256): whether one of the keys has signed, and whether the claims hold now.

A player's first call brings a token that nobody has seen, and a library that knows every algorithm takes as long to
check it as the rest of the call. This knows one, and is no more lenient: what it accepts, PyJWT does, which checks
all other tokens. Its exceptions are PyJWT's, so that a token is refused in one way whoever looks at it.
"""

from __future__ import annotations

import base64
import hmac
import re
import time
from typing import TYPE_CHECKING, Any, Final

import jwt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALGORITHM: Final = "HS256"

_SEGMENT: Final = r"(?:[\w-]{4})*+(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?"
"""Base 64 for URLs, unpadded, with no bits that mean nothing."""
_COMPACT: Final = re.compile(rf"({_SEGMENT}\.{_SEGMENT})\.([\w-]{{43}})", re.ASCII)
"""What is signed, and the signature: 32 bytes."""


class OwnKeys:
    """The keys of one kind of caller; two while they are rotated."""

    __slots__ = ("_keys",)

    def __init__(self, *secrets: str | None) -> None:
        """None stands for no key; without any, nothing is signed with them."""
        self._keys = [secret.encode() for secret in secrets if secret is not None]

    def check_signature(self, token: str, header: Mapping[str, Any]) -> None:
        """Raises an error of PyJWT unless one of the keys has signed the token, whose header this is."""
        found = _COMPACT.fullmatch(token)
        if found is None:
            raise jwt.DecodeError("not the compact form of such a token")
        # The algorithm is the keys'. What a token calls critical is nothing that is known here.
        if header.get("alg") != ALGORITHM or "crit" in header or "b64" in header:
            raise jwt.InvalidAlgorithmError("not signed as these keys sign")
        signed, signature = found[1].encode(), found[2].encode()
        # Compared as text, which has one form for each signature, and in a time that tells nothing of it.
        if not any(hmac.compare_digest(_signature(key, signed), signature) for key in self._keys):
            raise jwt.InvalidSignatureError("not signed with these keys")


def check_claims(
    claims: Mapping[str, Any], *, audience: str | None, leeway_seconds: float, required: Iterable[str]
) -> None:
    """Raises an error of PyJWT unless what a token claims holds now; ExpiredSignatureError once it is over.

    `audience`: whom it has to be made out to, and None when it may be made out to nobody.
    """
    for name in required:
        if claims.get(name) is None:
            raise jwt.MissingRequiredClaimError(name)
    now = time.time()
    for name in ("iat", "nbf"):
        if name in claims and _moment(claims, name) > now + leeway_seconds:
            raise jwt.ImmatureSignatureError("not valid yet")
    if _moment(claims, "exp") <= now - leeway_seconds:
        raise jwt.ExpiredSignatureError("expired")
    if not (isinstance(claims.get("sub", ""), str) and isinstance(claims.get("jti", ""), str)):
        raise jwt.InvalidTokenError("subject and id are texts")
    named = claims.get("aud")
    if audience is None:
        if named:
            raise jwt.InvalidAudienceError("made out to somebody")
        return
    audiences = [named] if isinstance(named, str) else named
    if not (isinstance(audiences, list) and all(isinstance(one, str) for one in audiences) and audience in audiences):
        raise jwt.InvalidAudienceError("made out to others")


def _signature(key: bytes, signed: bytes) -> bytes:
    """As a token carries it: base 64 for URLs, unpadded."""
    return base64.urlsafe_b64encode(hmac.digest(key, signed, "sha256"))[:43]


def _moment(claims: Mapping[str, Any], name: str) -> int:
    try:
        return int(claims[name])
    except (ValueError, TypeError, OverflowError):
        raise jwt.DecodeError(f"{name} is no moment") from None


__all__ = ["ALGORITHM", "OwnKeys", "check_claims"]
