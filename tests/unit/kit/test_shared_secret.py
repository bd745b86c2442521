"""Tokens of a shared secret are judged as PyJWT judges them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any, Final

import jwt
import pytest

from rami_kit.auth import TokenVerifier
from rami_kit.errors import RamiError, reason_name
from rami_kit.shared_secret import require_claims, require_signature, usable_secrets

SECRET: Final = "a-shared-secret-of-these-tests-0123456789"
OTHER: Final = "another-secret-of-these-tests-0123456789"
PEM: Final = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----"
NOW: Final = int(time.time())
CLAIMS: Final[dict[str, Any]] = {"iss": "rami", "sub": "ann", "exp": NOW + 3600}
HEADER: Final[dict[str, Any]] = {"alg": "HS256", "typ": "JWT"}
REQUIRED: Final = ("iss", "sub", "exp")
LEEWAY: Final = 5.0
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
WRONG: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, AttributeError)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed(header: object = HEADER, claims: object = CLAIMS, secret: str = SECRET) -> str:
    return sign(f"{part(header)}.{part(claims)}", secret)


def sign(text: str, secret: str = SECRET) -> str:
    signature = hmac.digest(secret.encode(), text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def verdict_here(token: str, audience: str | None) -> str:
    try:
        header, claims, _ = token.split(".")
        require_signature(token, _read(header), usable_secrets(SECRET))
        require_claims(_read(claims), required=REQUIRED, audience=audience, leeway_seconds=LEEWAY)
    except jwt.ExpiredSignatureError:
        return "expired"
    except WRONG:
        return "invalid"
    return "good"


def verdict_of_pyjwt(token: str, audience: str | None) -> str:
    try:
        options: Any = {"require": list(REQUIRED)}
        jwt.decode(token, SECRET, algorithms=["HS256"], audience=audience, leeway=LEEWAY, options=options)
    except jwt.ExpiredSignatureError:
        return "expired"
    except WRONG:
        return "invalid"
    return "good"


def _read(text: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(f"{text}=="))


def each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


CLAIMS_TO_JUDGE: Final[list[dict[str, Any]]] = [
    {},
    *each("exp", NOW - 3, NOW - 60, str(NOW + 60), NOW + 0.5, "soon", [], True, -1, 1e400, {"a": 1}),
    *each("iat", NOW, NOW - 60, NOW + 60, None, "now", str(NOW), False),
    *each("nbf", NOW, NOW - 60, NOW + 60, None, "now", 0),
    *each("aud", "us", "them", "", [], ["us"], ["them", "us"], ["us", 7], 7, {"us": 1}, None, ["them"]),
    *each("sub", "", 7, None, ["ann"]),
    *each("iss", "", None),
    *each("jti", "7", 7, None),
    {"exp": NOW - 60, "nbf": NOW + 60},
    {"exp": NOW - 60, "aud": "them"},
]
HEADERS_TO_JUDGE: Final[list[object]] = [
    {"alg": "HS256"},
    {"alg": "HS256", "kid": "x"},
    *each("alg", "none", "HS384", "hs256", "RS256", "", None, 7),
    {},
    {"alg": "HS256", "kid": None},
    {"alg": "HS256", "kid": 7},
    {"alg": "HS256", "crit": ["exp"], "exp": 1},
    {"alg": "HS256", "crit": []},
    {"alg": "HS256", "b64": False},
    {"alg": "HS256", "b64": False, "crit": ["b64"]},
    [],
    "HS256",
]


def spoiled() -> list[str]:
    """What a stranger may make of a token, and what a signer may sign that is none."""
    good = signed()
    text, _, signature = good.rpartition(".")
    header, payload = text.split(".")
    return [
        good,
        f"{text}.{signature[:-1]}{LETTERS[LETTERS.index(signature[-1]) ^ 1]}",  # the same bytes, spelled otherwise
        f"{text}.{signature[:-1]}",
        f"{text}.{signature}=A",
        f"{text}.",
        text,
        f"{text}.{signature}.{signature}",
        f"{text}.{signature}\n",
        f" {good}",
        f"{header}.{part(CLAIMS | {'sub': 'bob'})}.{signature}",
        signed(secret=OTHER),
        signed(secret=""),
        sign(f"{header}.{payload}!"),
        sign(f"{header}.{payload[:-1]}"),
        sign(f"{header}.+{payload}"),
        sign(f"{header}.{part('text')}"),
        sign(f"{header}.{part([CLAIMS])}"),
        sign(f"{header}.AB"),
        sign(f"{header}."),
        sign(f".{payload}"),
    ]


@pytest.mark.parametrize("audience", [None, "us"])
def test_every_token_is_judged_as_by_pyjwt(audience: str | None) -> None:
    mine = CLAIMS if audience is None else CLAIMS | {"aud": audience}
    tokens = [signed(claims=mine | changed) for changed in CLAIMS_TO_JUDGE]
    tokens += [signed(claims={name: value for name, value in mine.items() if name != gone}) for gone in REQUIRED]
    tokens += [signed(header, mine) for header in HEADERS_TO_JUDGE]
    tokens += spoiled()
    verdicts = [verdict_here(token, audience) for token in tokens]
    assert verdicts == [verdict_of_pyjwt(token, audience) for token in tokens]
    assert set(verdicts) == {"good", "expired", "invalid"}


def test_a_secret_that_may_be_a_public_key_verifies_nothing() -> None:
    assert usable_secrets(PEM, None, SECRET) == [SECRET.encode()]
    verifier = TokenVerifier(audience="rami-game", service_secret=SECRET, jwt_secret=PEM)
    with pytest.raises(RamiError) as refusal:
        verifier.verify(signed(secret=PEM))
    assert reason_name(refusal.value.reason) == "TOKEN_INVALID"
