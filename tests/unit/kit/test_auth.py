from __future__ import annotations

import base64
import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from rami_kit.auth import (
    CallerKind,
    GuestSigner,
    ServiceTokens,
    TokenVerifier,
    current_caller,
    player_id,
)
from rami_kit.errors import RamiError, reason_name
from rami_kit.jwks import JwksFile
from rami_kit.settings import ServiceSettings
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, make_settings, player_token, service_token
from support.tokens import ED_KEY, jwk, part, reason_of, verifier, write_jwks

if TYPE_CHECKING:
    from pathlib import Path


class StorelessSettings(ServiceSettings):
    needs_store = False


def settings(**values: Any) -> StorelessSettings:
    return make_settings(StorelessSettings, None, **values)


# Players signed by Rami.


def test_a_players_token_makes_a_player() -> None:
    caller = verifier().verify(player_token("abc", name="  Ada\u202e \n Lovelace "))
    assert caller.kind is CallerKind.PLAYER
    assert caller.name == "Ada Lovelace"
    assert caller.player_id == player_id("rami", "abc")
    assert caller.issuer == "rami"
    assert "abc" not in repr(caller)


def test_player_ids_are_opaque_stable_and_apart() -> None:
    digest = hashlib.sha256(b"rami\0abc").digest()
    assert player_id("rami", "abc") == base64.b32encode(digest).decode()[:26].lower()
    assert player_id("a", "bc") != player_id("ab", "c")


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "someone-else"},
        {"iss": None},
        {"iss": 7},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"exp": None},
        {"exp": "soon"},
        {"exp": float("inf")},
        {"nbf": 1e11},
        {"aud": "rami-game"},
        {"aud": "somewhere"},
        {"aud": ["a", "b"]},
    ],
    ids=str,
)
def test_a_players_token_with_a_wrong_claim_is_invalid(changed: dict[str, Any]) -> None:
    body: dict[str, Any] = {"iss": "rami", "sub": "x", "exp": time.time() + 100} | changed
    body = {key: value for key, value in body.items() if value is not None}
    token = jwt.PyJWS().encode(json.dumps(body).encode(), JWT_SECRET, algorithm="HS256")
    assert reason_of(verifier(), token) == "TOKEN_INVALID"


def test_an_expired_token_is_told_apart() -> None:
    assert reason_of(verifier(), player_token("x", lifetime_seconds=-60)) == "TOKEN_EXPIRED"
    assert reason_of(verifier(), player_token("x", lifetime_seconds=-1)) == "TOKEN_EXPIRED"


def test_a_remembered_token_expires_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    check = verifier()
    token = player_token("x", lifetime_seconds=100)
    check.verify(token)
    later = time.time() + 101
    monkeypatch.setattr("rami_kit.auth.time.time", lambda: later)
    assert reason_of(check, token) == "TOKEN_EXPIRED"
    assert token not in check._verified


def test_remembered_tokens_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rami_kit.auth.VERIFIED_TOKENS_KEPT", 3)
    check = verifier()
    for number in range(10):
        check.verify(player_token(f"p{number}"))
    assert len(check._verified) == 3


def test_refused_tokens_are_not_remembered() -> None:
    check = verifier()
    reason_of(check, "a.b.c")
    assert not check._verified


@pytest.mark.parametrize(
    "token",
    [
        *("", "x", "a.b.c", "é.é.é", "." * 9000, "a" * 9000),
        *(
            f"{part([])}.{part({})}.x",
            f"{part({})}.{part([])}.x",
            f"{part({})}.{part({})}.x.x",
            f"{part({})}.{part({})}",
        ),
    ],
)
def test_what_is_no_token_is_invalid(token: str) -> None:
    assert reason_of(verifier(), token or "-") == "TOKEN_INVALID"


def test_a_wrong_key_is_invalid() -> None:
    token = jwt.encode({"iss": "rami", "sub": "x", "exp": time.time() + 9}, "k" * 32, algorithm="HS256")
    assert reason_of(verifier(), token) == "TOKEN_INVALID"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE"])
def test_no_signature_is_invalid(alg: str) -> None:
    body = part({"iss": "rami", "sub": "x", "exp": time.time() + 100})
    assert reason_of(verifier(), f"{part({'alg': alg, 'typ': 'JWT'})}.{body}.") == "TOKEN_INVALID"
    keyed = part({"alg": alg, "kid": "k"})
    assert reason_of(verifier(), f"{keyed}.{body}.") == "TOKEN_INVALID"


@pytest.mark.parametrize("alg", ["HS384", "HS512"])
def test_the_secret_is_pinned_to_hs256(alg: str) -> None:
    token = jwt.encode({"iss": "rami", "sub": "x", "exp": time.time() + 9}, JWT_SECRET * 2, algorithm=alg)
    check = verifier(jwt_secret=JWT_SECRET * 2)
    assert reason_of(check, token) == "TOKEN_INVALID"


def test_without_a_secret_no_unnamed_key_is_accepted(tmp_path: Path) -> None:
    write_jwks(tmp_path / "jwks.json", jwk(ED_KEY, "k1", "EdDSA"))
    check = verifier(jwt_secret=None, jwks=JwksFile(str(tmp_path / "jwks.json")))
    assert reason_of(check, player_token("x")) == "TOKEN_INVALID"


def test_a_required_audience_is_required() -> None:
    check = verifier(jwt_audience="rami-players")
    assert check.verify(player_token("x", aud="rami-players")).kind is CallerKind.PLAYER
    assert check.verify(player_token("x", aud=["other", "rami-players"])).kind is CallerKind.PLAYER
    assert reason_of(check, player_token("x")) == "TOKEN_INVALID"
    assert reason_of(check, player_token("x", aud="other")) == "TOKEN_INVALID"


@pytest.mark.parametrize("audience", ["rami-game", "rami-ai", "rami-matchmaking"])
def test_a_players_token_made_out_to_a_service_is_invalid(audience: str) -> None:
    check = verifier(jwt_audience="rami-players")
    assert reason_of(check, player_token("x", aud=[audience, "rami-players"])) == "TOKEN_INVALID"
    # Not even when an operator names the players' audience like a service.
    assert reason_of(verifier(jwt_audience=audience), player_token("x", aud=audience)) == "TOKEN_INVALID"


def test_a_scope_in_a_players_token_means_nothing() -> None:
    caller = verifier().verify(player_token("x", scope="service", scp=["service"], roles=["service"]))
    assert caller.kind is CallerKind.PLAYER


# Services.


def test_a_services_token_makes_a_service() -> None:
    caller = verifier().verify(service_token("rami-game", subject="rami-ai"))
    assert (caller.kind, caller.subject, caller.player_id) == (CallerKind.SERVICE, "rami-ai", "")


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "rami-ai"},
        {"aud": "bot:third-party"},
        {"aud": ["rami-game", "rami-ai"]},
        {"aud": ["rami-game"]},
        {"aud": None},
        {"sub": None},
        {"iat": None},
        {"exp": 1e11},
        {"iat": 1e9},
        {"iss": "rami"},
    ],
    ids=str,
)
def test_a_services_token_with_a_wrong_claim_is_invalid(changed: dict[str, Any]) -> None:
    now = int(time.time())
    body: dict[str, Any] = {"iss": "rami-service", "sub": "rami-ai", "aud": "rami-game", "iat": now, "exp": now + 60}
    body = {key: value for key, value in (body | changed).items() if value is not None}
    assert reason_of(verifier(), jwt.encode(body, SERVICE_SECRET, algorithm="HS256")) == "TOKEN_INVALID"


def test_a_player_key_makes_no_service(tmp_path: Path) -> None:
    now = int(time.time())
    body = {"iss": "rami-service", "sub": "x", "aud": "rami-game", "iat": now, "exp": now + 60}
    write_jwks(tmp_path / "jwks.json", jwk(ED_KEY, "k1", "EdDSA"))
    check = verifier(jwks=JwksFile(str(tmp_path / "jwks.json")))
    assert reason_of(check, jwt.encode(body, JWT_SECRET, algorithm="HS256")) == "TOKEN_INVALID"
    assert reason_of(check, jwt.encode(body, ED_KEY, algorithm="EdDSA", headers={"kid": "k1"})) == "TOKEN_INVALID"


def test_service_tokens_are_accepted_by_the_callee_alone_and_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = ServiceTokens(settings(), "rami-game", subject="rami-matchmaking")
    first = tokens.metadata()
    assert tokens.metadata() is first
    caller = verifier().verify_metadata(first)
    assert caller.subject == "rami-matchmaking"
    assert 0 < caller.expires_at - time.time() <= 60
    assert reason_of(verifier(audience="rami-ai"), first[0][1].removeprefix("Bearer ")) == "TOKEN_INVALID"
    now = time.time()
    for passed in (31, -3600):  # half a life later, and after a clock that was set back
        monkeypatch.setattr("rami_kit.auth.time.time", lambda passed=passed: now + passed)
        assert tokens.metadata() is not first


def test_no_token_is_missing_and_another_scheme_is_invalid() -> None:
    for metadata in (None, (), (("other", "x"),)):
        with pytest.raises(RamiError) as missing:
            verifier().verify_metadata(metadata)
        assert reason_name(missing.value.reason) == "TOKEN_MISSING"
    for value in ("Basic dXNlcg==", "", "Bearer", b"Bearer x"):
        with pytest.raises(RamiError) as invalid:
            verifier().verify_metadata((("authorization", value),))
        assert reason_name(invalid.value.reason) == "TOKEN_INVALID"


def test_the_scheme_may_be_written_in_any_case() -> None:
    assert verifier().verify_metadata((("authorization", f"bearer {player_token('x')}"),)).name == "Player"


def test_outside_a_call_there_is_no_caller() -> None:
    with pytest.raises(LookupError):
        current_caller()


# Guests.


def test_a_guest_is_a_player() -> None:
    token, expires_at = GuestSigner(settings()).sign("guest-1", "Gast", 3600)
    caller = verifier().verify(token)
    assert (caller.player_id, caller.name) == (player_id("rami", "guest-1"), "Gast")
    assert caller.expires_at == expires_at


def test_without_a_secret_there_are_no_guests(tmp_path: Path) -> None:
    write_jwks(tmp_path / "jwks.json", jwk(ED_KEY, "k1", "EdDSA"))
    signer = GuestSigner(settings(jwt_secret=None, jwt_jwks_file=str(tmp_path / "jwks.json")))
    assert not signer.possible
    with pytest.raises(RamiError) as caught:
        signer.sign("x", "y", 1)
    assert reason_name(caught.value.reason) == "GUESTS_DISABLED"


# Keys that are rotated: first accepted, then signed with, then the only ones.

OLD, NEW = "o" * 32, "n" * 32


@pytest.mark.parametrize("step", ["both know both", "the new one signs", "the old one is gone"])
def test_tokens_of_services_are_good_through_every_step_of_a_rotation(step: str) -> None:
    before, after = {
        "both know both": ((OLD, None), (OLD, NEW)),
        "the new one signs": ((OLD, NEW), (NEW, OLD)),
        "the old one is gone": ((NEW, OLD), (NEW, None)),
    }[step]
    sides = [settings(service_secret=secret, service_secret_other=other) for secret, other in (before, after)]
    for caller in sides:
        ((_, header),) = ServiceTokens(caller, "rami-game").metadata()
        for called in sides:
            found = TokenVerifier.from_settings(called, "rami-game").verify(header.removeprefix("Bearer "))
            assert found.kind is CallerKind.SERVICE


@pytest.mark.parametrize("audience", [None, "rami-players"])
def test_guests_are_let_in_whatever_audience_players_must_name(audience: str | None) -> None:
    here = settings(jwt_audience=audience)
    token, _ = GuestSigner(here).sign("abc", "Ada", 600)
    assert TokenVerifier.from_settings(here, "rami-game").verify(token).player_id == player_id("rami", "abc")


def test_a_players_token_outlives_the_key_for_as_long_as_it_is_accepted() -> None:
    token, _ = GuestSigner(settings(jwt_secret=OLD)).sign("abc", "Ada", 600)
    during, after = settings(jwt_secret=NEW, jwt_secret_other=OLD), settings(jwt_secret=NEW)
    assert TokenVerifier.from_settings(during, "rami-game").verify(token).player_id == player_id("rami", "abc")
    with pytest.raises(RamiError) as caught:
        TokenVerifier.from_settings(after, "rami-game").verify(token)
    assert reason_name(caught.value.reason) == "TOKEN_INVALID"
    own, _ = GuestSigner(during).sign("abc", "Ada", 600)
    assert TokenVerifier.from_settings(after, "rami-game").verify(own)


@pytest.mark.parametrize(
    "values",
    [
        {"jwt_secret_other": SERVICE_SECRET},
        {"service_secret_other": JWT_SECRET},
        {"jwt_secret_other": NEW, "service_secret_other": NEW},
        {"jwt_secret_other": "short"},
    ],
)
def test_keys_that_are_rotated_are_checked_as_the_others(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"must differ|32 bytes"):
        settings(**values)
