from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rami_kit.auth import (
    CallerKind,
    TokenVerifier,
    player_id,
)
from rami_kit.jwks import JwksError, JwksFile, read_jwks
from support.tokens import ED_KEY, jwk, part, reason_of, verifier, write_jwks

if TYPE_CHECKING:
    from pathlib import Path

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def claims(**values: Any) -> dict[str, Any]:
    return {"iss": "https://id.example", "sub": "u-1", "exp": time.time() + 100} | values


def provider(path: Path, *keys: dict[str, Any], **values: Any) -> TokenVerifier:
    write_jwks(path / "jwks.json", *keys)
    return verifier(jwks=JwksFile(str(path / "jwks.json"), refresh_seconds=0), **values)


@pytest.mark.parametrize(("key", "alg"), [(ED_KEY, "EdDSA"), (RSA_KEY, "RS256")])
def test_a_provider_makes_players(tmp_path: Path, key: Any, alg: str) -> None:
    check = provider(tmp_path, jwk(key, "k1", alg))
    caller = check.verify(jwt.encode(claims(name="Ada"), key, algorithm=alg, headers={"kid": "k1"}))
    assert (caller.kind, caller.name) == (CallerKind.PLAYER, "Ada")
    assert caller.player_id == player_id("https://id.example", "u-1")


def test_a_provider_needs_a_known_kid(tmp_path: Path) -> None:
    check = provider(tmp_path, jwk(ED_KEY, "k1", "EdDSA"))
    assert reason_of(check, jwt.encode(claims(), ED_KEY, algorithm="EdDSA")) == "TOKEN_INVALID"
    unknown = jwt.encode(claims(), ED_KEY, algorithm="EdDSA", headers={"kid": "k2"})
    assert reason_of(check, unknown) == "TOKEN_INVALID"


def test_a_provider_cannot_make_ramis_own_players(tmp_path: Path) -> None:
    check = provider(tmp_path, jwk(ED_KEY, "k1", "EdDSA"))
    token = jwt.encode(claims(iss="rami"), ED_KEY, algorithm="EdDSA", headers={"kid": "k1"})
    assert reason_of(check, token) == "TOKEN_INVALID"


def test_a_providers_issuer_is_checked_when_it_is_set(tmp_path: Path) -> None:
    check = provider(tmp_path, jwk(ED_KEY, "k1", "EdDSA"), jwt_issuer="https://id.example")
    good = jwt.encode(claims(), ED_KEY, algorithm="EdDSA", headers={"kid": "k1"})
    bad = jwt.encode(claims(iss="https://evil.example"), ED_KEY, algorithm="EdDSA", headers={"kid": "k1"})
    assert check.verify(good).kind is CallerKind.PLAYER
    assert reason_of(check, bad) == "TOKEN_INVALID"


def test_hs256_signed_with_a_public_key_is_invalid(tmp_path: Path) -> None:
    # The classic confusion: the public key, which everybody has, taken for a shared secret.
    check = provider(tmp_path, jwk(RSA_KEY, "k1", "RS256"))
    for encoding, form in (
        (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        (Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
    ):
        public = RSA_KEY.public_key().public_bytes(encoding, form)
        for iss in ("https://id.example", "rami"):
            signed = f"{part({'alg': 'HS256', 'kid': 'k1'})}.{part(claims(iss=iss))}"
            mac = hmac.new(public, signed.encode(), hashlib.sha256).digest()
            token = f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
            assert reason_of(check, token) == "TOKEN_INVALID"


def test_a_key_is_pinned_to_its_algorithm(tmp_path: Path) -> None:
    check = provider(tmp_path, jwk(RSA_KEY, "k1", "RS256"))
    for alg in ("RS384", "RS512", "PS256"):
        token = jwt.encode(claims(), RSA_KEY, algorithm=alg, headers={"kid": "k1"})
        assert reason_of(check, token) == "TOKEN_INVALID"


def test_keys_are_rotated_without_a_restart(tmp_path: Path) -> None:
    old, new = ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
    check = provider(tmp_path, jwk(old, "old", "EdDSA"))
    by_old = jwt.encode(claims(), old, algorithm="EdDSA", headers={"kid": "old"})
    by_new = jwt.encode(claims(), new, algorithm="EdDSA", headers={"kid": "new"})
    check.verify(by_old)
    assert reason_of(check, by_new) == "TOKEN_INVALID"

    write_jwks(tmp_path / "jwks.json", jwk(old, "old", "EdDSA"), jwk(new, "new", "EdDSA"))
    check.verify(by_old)
    check.verify(by_new)

    # A key that is gone is gone for tokens that were accepted before, too.
    write_jwks(tmp_path / "jwks.json", jwk(new, "new", "EdDSA"))
    assert reason_of(check, by_old) == "TOKEN_INVALID"
    check.verify(by_new)


def test_a_file_swapped_by_a_link_is_seen(tmp_path: Path) -> None:
    old, new = ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
    write_jwks(tmp_path / "one.json", jwk(old, "k", "EdDSA"))
    write_jwks(tmp_path / "two.json", jwk(new, "k", "EdDSA"))
    link = tmp_path / "jwks.json"
    link.symlink_to("one.json")
    check = verifier(jwks=JwksFile(str(link), refresh_seconds=0))
    token = jwt.encode(claims(), new, algorithm="EdDSA", headers={"kid": "k"})
    assert reason_of(check, token) == "TOKEN_INVALID"
    swapped = tmp_path / "next"
    swapped.symlink_to("two.json")
    swapped.rename(link)
    check.verify(token)


def test_a_file_that_breaks_later_leaves_the_keys(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    check = provider(tmp_path, jwk(ED_KEY, "k1", "EdDSA"))
    path = tmp_path / "jwks.json"
    for content in ("{", '{"keys": []}', None):
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        check.verify(jwt.encode(claims(), ED_KEY, algorithm="EdDSA", headers={"kid": "k1"}))
        assert "cannot be used" in caplog.text
        caplog.clear()


def test_the_file_is_looked_at_once_a_while(tmp_path: Path) -> None:
    write_jwks(tmp_path / "jwks.json", jwk(ED_KEY, "k1", "EdDSA"))
    file = JwksFile(str(tmp_path / "jwks.json"), refresh_seconds=3600)
    write_jwks(tmp_path / "jwks.json", jwk(ED_KEY, "k2", "EdDSA"))
    assert not file.refresh()
    assert file.find("k1") is not None


EC_JWK = {
    **jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True),
    "kid": "k",
}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("", "no JWKS document"),
        ("[]", "no JWKS document"),
        ("{}", "no JWKS document"),
        ('{"keys": {}}', "has no keys"),
        ('{"keys": []}', "has no keys"),
        ({"keys": [7]}, "no name"),
        ({"keys": [{"alg": "EdDSA"}]}, "no name"),
        ({"keys": [{"kid": "k", "alg": "HS256", "kty": "oct", "k": "c2VjcmV0"}]}, "neither EdDSA nor RS256"),
        ({"keys": [{"kid": "k", "alg": "RS256", "kty": "oct", "k": "c2VjcmV0"}]}, "secret key"),
        ({"keys": [{"kid": "k", "alg": "none"}]}, "neither EdDSA nor RS256"),
        ({"keys": [{"kid": "k"}]}, "neither EdDSA nor RS256"),
        ({"keys": [EC_JWK | {"alg": "ES256"}]}, "neither EdDSA nor RS256"),
        ({"keys": [EC_JWK | {"alg": "RS256"}]}, "key"),
        ({"keys": [{"kid": "k", "alg": "EdDSA", "kty": "OKP", "crv": "Ed25519", "x": "!"}]}, "no usable key"),
        ({"keys": [jwk(ED_KEY, "k", "EdDSA") | {"alg": "RS256"}]}, "key"),
        ({"keys": [jwk(ED_KEY, "k", "EdDSA")] * 2}, "name of another"),
    ],
    ids=lambda value: value if isinstance(value, str) else "document",  # keys differ between processes
)
def test_a_file_with_an_unusable_key_is_refused(tmp_path: Path, document: object, complaint: str) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(JwksError, match=complaint):
        read_jwks(str(path))


def test_a_private_key_in_the_file_is_refused(tmp_path: Path) -> None:
    private = jwt.algorithms.OKPAlgorithm.to_jwk(ED_KEY, as_dict=True) | {"kid": "k", "alg": "EdDSA"}
    write_jwks(tmp_path / "jwks.json", private)
    with pytest.raises(JwksError, match="secret key") as caught:
        read_jwks(str(tmp_path / "jwks.json"))
    assert private["d"] not in str(caught.value)


def test_a_short_rsa_key_is_refused(tmp_path: Path) -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    write_jwks(tmp_path / "jwks.json", jwk(short, "k", "RS256"))
    with pytest.raises(JwksError, match="2048 bits"):
        read_jwks(str(tmp_path / "jwks.json"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JwksError, match="No such file"):
        JwksFile(str(tmp_path / "none.json"))
