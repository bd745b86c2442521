"""Who calls: bearer tokens in, callers out; and the tokens that Rami signs itself.

There are two key sets and no bridge between them. Player keys (RAMI_JWT_SECRET, RAMI_JWT_JWKS_FILE) make
players; the service key (RAMI_SERVICE_SECRET) makes services. The issuer that a token names picks the set,
the set's key then has to verify it, and the algorithm belongs to the key and is never taken from the token. A
scope in a player's token means nothing.

A player is (issuer, subject). Everything beyond this module knows only an opaque digest of the two.
"""

from __future__ import annotations

import base64
import contextvars
import hashlib
import hmac
import json
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import jwt

from rami_kit.errors import RamiError, reasons, refused
from rami_kit.jwks import JwksFile
from rami_kit.names import display_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import SecretStr

    from rami_kit.settings import ServiceSettings

PLAYER_ISSUER: Final = "rami"
SERVICE_ISSUER: Final = "rami-service"
SERVICE_AUDIENCES: Final = frozenset({"rami-game", "rami-ai", "rami-matchmaking"})
SERVICE_TOKEN_SECONDS: Final = 60
"""Longest life of a service token, and the life of those signed here."""
CLOCK_SKEW_SECONDS: Final = 5
"""How far the clock of a signer may run ahead of ours."""
MAX_TOKEN_LENGTH: Final = 8192
PLAYER_ID_LENGTH: Final = 26
GUEST_SUBJECT: Final = "guest-"
"""How the subjects of guests begin. Who signs other tokens with RAMI_JWT_SECRET names no such subject."""
VERIFIED_TOKENS_KEPT: Final = 10_000

_BEARER: Final = "bearer "


class CallerKind(Enum):
    """What a verified token speaks for."""

    PLAYER = "player"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever makes the current call, as its token says."""

    kind: CallerKind
    player_id: str
    """Opaque and stable, 26 characters of lower-case base 32; empty for a service."""
    name: str
    """What others may see: at most 32 printable characters."""
    expires_at: float
    """When the token ends, in unix seconds."""
    issuer: str
    subject: str
    """Name of the calling service; empty for a player, whose subject goes no further than this module."""


_current: contextvars.ContextVar[Caller] = contextvars.ContextVar("rami_caller")
set_current_caller: Final = _current.set


def current_caller() -> Caller:
    """The caller of the RPC that this task handles. Raises LookupError in a public method or outside one."""
    return _current.get()


def caller_id() -> str:
    """The id of the player whose RPC this task handles; empty for a service, and outside of RPCs."""
    caller = _current.get(None)
    return "" if caller is None or caller.kind is not CallerKind.PLAYER else caller.player_id


def player_id(issuer: str, subject: str) -> str:
    """The id of a player: the first 26 characters of base 32 of SHA-256(issuer, zero byte, subject)."""
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).digest()
    return base64.b32encode(digest).decode()[:PLAYER_ID_LENGTH].lower()


class TokenVerifier:
    """Turns an authorization header into a Caller, for one service.

    Verified tokens are remembered until they expire, because checking a signature costs more than most calls.
    The memory is bounded, and forgotten as a whole when the keys change.
    """

    def __init__(
        self,
        *,
        audience: str,
        service_secret: str,
        service_secret_other: str | None = None,
        jwt_secret: str | None = None,
        jwt_secret_other: str | None = None,
        jwks: JwksFile | None = None,
        jwt_issuer: str | None = None,
        jwt_audience: str | None = None,
    ) -> None:
        self._audience = audience
        self._service_secrets = [secret for secret in (service_secret, service_secret_other) if secret is not None]
        self._jwt_secrets = [secret for secret in (jwt_secret, jwt_secret_other) if secret is not None]
        self._jwks = jwks
        self._jwt_issuer = jwt_issuer
        self._jwt_audience = jwt_audience
        self._verified: OrderedDict[str, Caller] = OrderedDict()

    @classmethod
    def from_settings(cls, settings: ServiceSettings, audience: str) -> TokenVerifier:
        """The verifier of the service called `audience`. Raises JwksError for an unusable JWKS file."""
        assert settings.service_secret is not None  # the settings refuse to load without one
        return cls(
            audience=audience,
            service_secret=settings.service_secret.get_secret_value(),
            service_secret_other=_value(settings.service_secret_other),
            jwt_secret=_value(settings.jwt_secret),
            jwt_secret_other=_value(settings.jwt_secret_other),
            jwks=JwksFile(settings.jwt_jwks_file) if settings.jwt_jwks_file else None,
            jwt_issuer=settings.jwt_issuer,
            jwt_audience=settings.jwt_audience,
        )

    def verify_metadata(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> Caller:
        """The caller of a call with this metadata.

        Raises RamiError: TOKEN_MISSING, TOKEN_INVALID or TOKEN_EXPIRED, without a word of the token.
        """
        return self.verify(_bearer_token(metadata))

    def verify(self, token: str) -> Caller:
        """The caller that a token speaks for. Raises RamiError: TOKEN_INVALID or TOKEN_EXPIRED."""
        if self._jwks is not None and self._jwks.refresh():
            self._verified.clear()
        caller = self._verified.get(token)
        if caller is None:
            caller = self._check(token)
            self._verified[token] = caller
            if len(self._verified) > VERIFIED_TOKENS_KEPT:
                self._verified.popitem(last=False)
        if caller.expires_at <= time.time():
            self._verified.pop(token, None)
            raise token_expired()
        return caller

    def _check(self, token: str) -> Caller:
        if len(token) > MAX_TOKEN_LENGTH:
            raise _invalid()
        try:
            # Only to pick the key set: whatever the token claims, the key of that set has to verify it.
            header, payload, _ = token.split(".")
            if _unverified(payload).get("iss") == SERVICE_ISSUER:
                return self._service(token)
            return self._player(token, _unverified(header))
        except jwt.ExpiredSignatureError:
            raise token_expired() from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            # A token is whatever a stranger sends: every way in which it fails to be one is the same answer.
            raise _invalid() from None

    def _service(self, token: str) -> Caller:
        claims = self._decode_own(token, self._service_secrets, audience=self._audience, required=("aud", "iat"))
        if claims["aud"] != self._audience:
            raise jwt.InvalidAudienceError("made out to more than one service")
        lifetime = float(claims["exp"]) - float(claims["iat"])
        if not 0 < lifetime <= SERVICE_TOKEN_SECONDS:
            raise jwt.InvalidTokenError("lives longer than a service token may")
        subject = claims["sub"]
        return Caller(CallerKind.SERVICE, "", subject, float(claims["exp"]), SERVICE_ISSUER, subject)

    def _player(self, token: str, header: dict[str, Any]) -> Caller:
        kid = header.get("kid")
        if kid is None:
            if not self._jwt_secrets:
                raise jwt.InvalidKeyError("no key without a name")
            claims = self._decode_own(token, self._jwt_secrets, audience=self._jwt_audience)
            if claims["iss"] != PLAYER_ISSUER:
                raise jwt.InvalidIssuerError("not our own")
        else:
            key = self._jwks.find(kid) if self._jwks is not None else None
            if key is None:
                raise jwt.InvalidKeyError("no key of this name")
            claims = self._decode(token, key.key, key.algorithm, audience=self._jwt_audience)
            # An identity provider may not make the players that Rami signs in itself.
            if claims["iss"] == PLAYER_ISSUER or self._jwt_issuer not in (None, claims["iss"]):
                raise jwt.InvalidIssuerError("not an issuer of these keys")
        audiences = claims.get("aud", ())
        if not SERVICE_AUDIENCES.isdisjoint([audiences] if isinstance(audiences, str) else audiences):
            raise jwt.InvalidAudienceError("players are no services")
        identity = player_id(claims["iss"], claims["sub"])
        expires_at = float(claims["exp"])
        return Caller(CallerKind.PLAYER, identity, display_name(claims.get("name")), expires_at, claims["iss"], "")

    def _decode_own(
        self, token: str, secrets: Sequence[str], *, audience: str | None, required: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The claims of a token that one of these secrets has signed; there are two while they are rotated."""
        for secret in secrets[:-1]:
            with suppress(jwt.InvalidSignatureError):
                return self._decode(token, secret, "HS256", audience=audience, required=required)
        return self._decode(token, secrets[-1], "HS256", audience=audience, required=required)

    @staticmethod
    def _decode(
        token: str, key: Any, algorithm: str, *, audience: str | None, required: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=audience,
            leeway=CLOCK_SKEW_SECONDS,
            options={"require": ["iss", "sub", "exp", *required]},
        )
        if not (isinstance(claims["iss"], str) and isinstance(claims["sub"], str) and claims["sub"]):
            raise jwt.InvalidTokenError("issuer and subject are texts")
        return claims


class ServiceTokens:
    """The tokens with which a service calls another, signed anew before they end.

    One object serves all calls to one callee; `metadata()` is what a stub's `metadata=` takes.
    """

    def __init__(
        self, settings: ServiceSettings, audience: str, subject: str = "rami", *, secret: str | None = None
    ) -> None:
        """`secret` signs in place of the one that all services share, for a callee that must not know that one."""
        assert settings.service_secret is not None  # the settings refuse to load without one
        self._secret = settings.service_secret.get_secret_value() if secret is None else secret
        self._audience = audience
        self._subject = subject
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._renew_at = 0.0

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Call metadata with a token that is good for at least half a minute."""
        now = time.time()
        if now >= self._renew_at or self._renew_at - now > SERVICE_TOKEN_SECONDS:
            claims = {
                "iss": SERVICE_ISSUER,
                "sub": self._subject,
                "aud": self._audience,
                "iat": int(now),
                "exp": int(now) + SERVICE_TOKEN_SECONDS,
            }
            token = jwt.encode(claims, self._secret, algorithm="HS256")
            self._metadata = (("authorization", f"Bearer {token}"),)
            self._renew_at = now + SERVICE_TOKEN_SECONDS / 2
        return self._metadata


def bot_audience(bot: str) -> str:
    """The audience of the tokens that the bot service of a profile is shown."""
    return f"rami-bot:{bot}"


def bot_key(service_secret: str, bot: str) -> str:
    """The key of those tokens (HS256), 64 hex digits. It tells nothing of the secret it is made from, and no Rami
    service accepts what is signed with it, so it can be given to whoever runs the bot.
    """
    return hmac.new(service_secret.encode(), bot_audience(bot).encode(), hashlib.sha256).hexdigest()


class GuestSigner:
    """Signs in guests: player tokens under RAMI_JWT_SECRET."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else None
        self._audience = settings.jwt_audience

    @property
    def possible(self) -> bool:
        """Whether there is a key to sign with; without one only the operator's provider makes players."""
        return self._secret is not None

    def renew(
        self, metadata: Iterable[tuple[str, str | bytes]] | None, name: str, lifetime_seconds: float
    ) -> tuple[str, float]:
        """As `sign`, for the guest whose call carries this metadata. Trusts its caller that the call was let in.

        Raises NOT_A_GUEST for a token that CreateGuest has not signed, or whose subject is not one that it makes: who
        signs tokens otherwise decides for how long they count.
        """
        claims = jwt.decode(_bearer_token(metadata), options={"verify_signature": False})
        if claims["iss"] != PLAYER_ISSUER or not claims["sub"].startswith(GUEST_SUBJECT):
            raise refused(reasons.ERROR_REASON_NOT_A_GUEST, "the identity provider of the player renews its token")
        return self.sign(claims["sub"], name, lifetime_seconds)

    def sign(self, subject: str, name: str, lifetime_seconds: float) -> tuple[str, float]:
        """A token and the unix time at which it ends. Raises RamiError GUESTS_DISABLED without a key."""
        if self._secret is None:
            raise refused(reasons.ERROR_REASON_GUESTS_DISABLED, "this cluster signs in no guests")
        now = int(time.time())
        expires_at = now + int(lifetime_seconds)
        claims = {"iss": PLAYER_ISSUER, "sub": subject, "name": name, "iat": now, "exp": expires_at}
        if self._audience is not None:
            claims["aud"] = self._audience
        return jwt.encode(claims, self._secret, algorithm="HS256"), float(expires_at)


def _bearer_token(metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
    """The token of a call. Raises RamiError: TOKEN_MISSING or TOKEN_INVALID."""
    for key, value in metadata or ():
        if key == "authorization":
            if isinstance(value, str) and value[:7].lower() == _BEARER:
                return value[7:]
            raise _invalid()
    raise refused(reasons.ERROR_REASON_TOKEN_MISSING, "the call carries no bearer token")


def _unverified(part: str) -> dict[str, Any]:
    """The header or the claims of a token, as anybody may have written them. Raises ValueError or TypeError."""
    document = json.loads(base64.urlsafe_b64decode(f"{part}=="))
    if not isinstance(document, dict):
        raise TypeError("no JSON object")
    return document


def _value(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None


def _invalid() -> RamiError:
    return refused(reasons.ERROR_REASON_TOKEN_INVALID, "the token is not valid here")


def token_expired() -> RamiError:
    """What a call or a stream ends with when its token has ended."""
    return refused(reasons.ERROR_REASON_TOKEN_EXPIRED, "the token has expired: sign in again")


__all__ = [
    "SERVICE_AUDIENCES",
    "Caller",
    "CallerKind",
    "GuestSigner",
    "ServiceTokens",
    "TokenVerifier",
    "bot_audience",
    "bot_key",
    "caller_id",
    "current_caller",
    "player_id",
    "set_current_caller",
    "token_expired",
]
