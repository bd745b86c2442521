"""Tokens for which nobody gets in: expired, forged, not signed, signed with what everybody knows, for somebody else."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, player_token, service_token
from support.tokens import jwk, part

if TYPE_CHECKING:
    from collections.abc import Callable

RSA: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ED: Final = ed25519.Ed25519PrivateKey.generate()
OTHER_RSA: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_ED: Final = ed25519.Ed25519PrivateKey.generate()
OTHER_EC: Final = ec.generate_private_key(ec.SECP256R1())
PROVIDER: Final = "https://id.example"


def claims(**values: Any) -> dict[str, Any]:
    return {"iss": "rami", "sub": "ann", "exp": int(time.time()) + 300} | values


def provided(key: Any, algorithm: str, kid: str, **values: Any) -> str:
    """A token of the identity provider."""
    return jwt.encode(claims(iss=PROVIDER, **values), key, algorithm=algorithm, headers={"kid": kid})


def hs256(secret: bytes, header: dict[str, str], body: dict[str, Any]) -> str:
    """By hand, since PyJWT refuses to take a public key for a secret."""
    signed = f"{part({'typ': 'JWT'} | header)}.{part(body)}"
    mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def expired(audience: str) -> list[str]:
    return [
        player_token("ann", lifetime_seconds=-60),
        provided(ED, "EdDSA", "ed", exp=int(time.time()) - 60),
        provided(RSA, "RS256", "rsa", exp=int(time.time()) - 60),
        service_token(audience, iat=int(time.time()) - 120, exp=int(time.time()) - 60),
    ]


def forged(audience: str) -> list[str]:
    now = int(time.time())
    of_a_service = {"iss": "rami-service", "sub": "rami-game", "aud": audience, "iat": now, "exp": now + 30}
    return [
        jwt.encode(claims(), "k" * 32, algorithm="HS256"),
        jwt.encode(claims(), SERVICE_SECRET, algorithm="HS256"),
        jwt.encode(of_a_service, JWT_SECRET, algorithm="HS256"),
        jwt.encode(of_a_service, "k" * 32, algorithm="HS256"),
        provided(OTHER_RSA, "RS256", "rsa"),
        provided(OTHER_ED, "EdDSA", "ed"),
        provided(ED, "EdDSA", "rsa"),
        provided(RSA, "PS256", "rsa"),
        provided(RSA, "RS512", "rsa"),
        provided(ED, "EdDSA", "unknown"),
        provided(OTHER_EC, "ES256", "ed"),
        "x",
        "..",
    ]


def unsigned(audience: str) -> list[str]:
    bodies = (claims(), claims(iss=PROVIDER), claims(iss="rami-service", aud=audience, iat=int(time.time())))
    names = ("none", "None", "NONE", "nOnE", "")
    headers: list[dict[str, str]] = [{"alg": name} for name in names]
    headers += [{"alg": "none", "kid": kid} for kid in ("rsa", "ed")] + [{}]
    return [f"{part(header)}.{part(body)}.{mark}" for header in headers for body in bodies for mark in ("", "AA")]


def confused(audience: str) -> list[str]:
    raw = (Encoding.Raw, PublicFormat.Raw)
    forms = [(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)]
    secrets = [RSA.public_key().public_bytes(*form) for form in (*forms, (Encoding.PEM, PublicFormat.PKCS1))]
    secrets += [ED.public_key().public_bytes(*form) for form in (*forms, raw)]
    secrets += [secret.strip() for secret in secrets]
    secrets += [json.dumps(jwk(RSA, "rsa", "RS256")).encode(), json.dumps(jwk(ED, "ed", "EdDSA")).encode(), b""]
    bodies = (claims(), claims(iss=PROVIDER), claims(iss="rami-service", aud=audience, iat=int(time.time())))
    headers = ({"alg": "HS256"}, {"alg": "HS256", "kid": "rsa"}, {"alg": "HS256", "kid": "ed"})
    return [hs256(secret, header, body) for secret in secrets for header in headers for body in bodies]


def other_audiences(audience: str) -> list[str]:
    others = [name for name in ("rami-game", "rami-ai", "rami-matchmaking", "bot:acme") if name != audience]
    tokens = [service_token(name) for name in others]
    return [*tokens, service_token(audience, aud=[audience, *others]), service_token(audience, lifetime_seconds=600)]


STRANGERS: Final[dict[str, Callable[[str], list[str]]]] = {
    "expired": expired,
    "forged": forged,
    "alg=none": unsigned,
    "confused": confused,
    "aud": other_audiences,
}
"""Tokens for which nobody gets in, by column; all of a column have to get the same answer."""
