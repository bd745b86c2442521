"""Tokens that are signed with a shared secret: JSON Web Tokens, compact, with HS256 (RFC 7515, 7518, 7519).

Players come with such tokens by the thousand, and the token of each is read once, which has to cost little beside a
call. PyJWT reads the tokens of all other keys; it takes four times as long as this for one of these, because it looks
at the secret itself each time, and at every character by itself. What it refuses, this refuses: a test compares them.
"""

from __future__ import annotations

import base64
import hmac
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import jwt
from jwt.algorithms import HMACAlgorithm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PART: Final = "(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?"
"""Unpadded base64url in its only spelling: the bits that are left over are zero."""
_FORM: Final = re.compile(rf"{_PART}[.]{_PART}[.]{_PART}", re.ASCII)
_HS256: Final = HMACAlgorithm(HMACAlgorithm.SHA256)


def usable_secrets(*secrets: str | None) -> list[bytes]:
    """The secrets that can verify anything. One that looks like a public key cannot: everybody may know it."""
    usable = []
    for secret in secrets:
        if secret is not None:
            with suppress(jwt.InvalidKeyError):
                usable.append(_HS256.prepare_key(secret))
    return usable


def require_signature(token: str, header: Mapping[str, Any], secrets: Sequence[bytes]) -> None:
    """Returns when one of the secrets has signed a token, whose header is given as well.

    Raises jwt.PyJWTError for a token of another algorithm or form, for one with a header that must be understood, and
    InvalidSignatureError for one that nobody here has signed.
    """
    if _FORM.fullmatch(token) is None:
        raise jwt.DecodeError("not the compact form")
    if header.get("alg") != "HS256":
        raise jwt.InvalidAlgorithmError("not HS256")
    if "crit" in header or "b64" in header or not isinstance(header.get("kid", ""), str):
        raise jwt.InvalidTokenError("a header that is not understood")
    signed, _, signature = token.encode().rpartition(b".")
    for secret in secrets:
        # Texts are compared, not bytes, so that a signature has one spelling.
        expected = base64.urlsafe_b64encode(hmac.digest(secret, signed, "sha256")).rstrip(b"=")
        if hmac.compare_digest(expected, signature):
            return
    raise jwt.InvalidSignatureError("no secret of ours")


def require_claims(
    claims: Mapping[str, Any], *, required: Sequence[str], audience: str | None, leeway_seconds: float
) -> None:
    """Returns when a token counts now, for this audience; None where no audience is named.

    Raises jwt.PyJWTError, ExpiredSignatureError for one that has ended, and ValueError, TypeError or OverflowError for
    times that are no numbers.
    """
    for name in required:
        if claims.get(name) is None:
            raise jwt.MissingRequiredClaimError(name)
    now = time.time()
    for name in ("iat", "nbf"):
        if name in claims and int(claims[name]) > now + leeway_seconds:
            raise jwt.ImmatureSignatureError("not yet")
    if "exp" in claims and int(claims["exp"]) <= now - leeway_seconds:
        raise jwt.ExpiredSignatureError("no longer")
    _require_audience(claims.get("aud"), audience)
    for name in ("sub", "jti"):
        if name in claims and not isinstance(claims[name], str):
            raise jwt.InvalidTokenError("a name that is no text")


def _require_audience(told: Any, audience: str | None) -> None:
    if audience is None:
        if told:
            raise jwt.InvalidAudienceError("made out to somebody else")
        return
    names = [told] if isinstance(told, str) else told
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or audience not in names:
        raise jwt.InvalidAudienceError("not made out to us")


__all__ = ["require_claims", "require_signature", "usable_secrets"]
