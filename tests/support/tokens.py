"""Keys and tokens beyond those of rami_kit.testing: what an identity provider, or an attacker, would make."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from rami_kit.auth import TokenVerifier
from rami_kit.errors import RamiError, reason_name
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET

if TYPE_CHECKING:
    from pathlib import Path

ED_KEY = ed25519.Ed25519PrivateKey.generate()


def jwk(key: Any, kid: str, alg: str) -> dict[str, Any]:
    """The public part of a private key, as an entry of a JWKS file."""
    algorithm = jwt.algorithms.OKPAlgorithm if alg == "EdDSA" else jwt.algorithms.RSAAlgorithm
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "alg": alg, "use": "sig"}


def write_jwks(path: Path, *keys: dict[str, Any]) -> None:
    path.write_text(json.dumps({"keys": list(keys)}))


def verifier(**values: Any) -> TokenVerifier:
    """The verifier of the game service, with the secrets of the tests."""
    parts: dict[str, Any] = {"audience": "rami-game", "service_secret": SERVICE_SECRET, "jwt_secret": JWT_SECRET}
    return TokenVerifier(**(parts | values))


def reason_of(check: TokenVerifier, token: str) -> str:
    """Why a token is refused; fails when the error repeats it."""
    with pytest.raises(RamiError) as caught:
        check.verify(token)
    assert token not in str(caught.value)
    return reason_name(caught.value.reason)


def part(document: object) -> str:
    """A header or a body of a token, as it is written in one."""
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()
