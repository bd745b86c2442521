"""Tokens under our own keys are checked by hand, and never more leniently than PyJWT checks them."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import jwt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rami_kit.own_keys import OwnKeys, check_claims
from support.tokens import part

KEY, OTHER = "k" * 32, "o" * 40
HEADER = {"alg": "HS256", "typ": "JWT"}
LEEWAY = 5
REQUIRED = ("iss", "sub", "exp")
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def signed(header: object, claims: object, key: str = KEY) -> str:
    return jwt.PyJWS().encode(
        json.dumps(claims).encode(), key, algorithm="HS256", headers=header if isinstance(header, dict) else None
    )


def ours(token: str, audience: str | None = None) -> dict[str, Any]:
    """As a verifier does it. Raises an error of PyJWT, or one that stands for no token at all."""
    header, claims, _ = token.split(".")
    documents = [json.loads(base64.urlsafe_b64decode(f"{one}==")) for one in (header, claims)]
    OwnKeys(KEY).check_signature(token, documents[0])
    check_claims(documents[1], audience=audience, leeway_seconds=LEEWAY, required=REQUIRED)
    made: dict[str, Any] = documents[1]
    return made


def theirs(token: str, audience: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = jwt.decode(
        token, KEY, algorithms=["HS256"], audience=audience, leeway=LEEWAY, options={"require": list(REQUIRED)}
    )
    return made


def outcome(check: Any, token: str, audience: str | None = None) -> Any:
    """The claims of a token; EXPIRED or INVALID."""
    try:
        return check(token, audience)
    except jwt.ExpiredSignatureError:
        return "EXPIRED"
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
        return "INVALID"


def claims(**changed: Any) -> dict[str, Any]:
    body = {"iss": "rami", "sub": "x", "exp": int(time.time()) + 1000} | changed
    return {name: value for name, value in body.items() if value is not ...}


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["5", "1e3", "99999999999"]),
    st.lists(st.one_of(st.text(max_size=3), st.integers(), st.just("a")), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@given(st.dictionaries(st.sampled_from(["iss", "sub", "exp", "nbf", "iat", "aud", "jti", "name"]), ODD))
@example({"aud": "a"})
@example({"aud": ["b", "a"]})
@example({"aud": ["a", 1]})
@example({"jti": None})
@example({"exp": True})
@example({"exp": "99999999999"})
@example({"nbf": 10**12})
@pytest.mark.parametrize("audience", [None, "a"])
def test_claims_hold_just_when_pyjwt_says_so(audience: str | None, changed: dict[str, Any]) -> None:
    token = signed(HEADER, claims() | changed)
    found, expected = outcome(ours, token, audience), outcome(theirs, token, audience)
    assert repr(found) == repr(expected)  # not a number is not equal to itself


@given(st.data())
def test_a_token_that_is_changed_anywhere_is_invalid(data: st.DataObject) -> None:
    token = signed(HEADER, claims())
    at = data.draw(st.integers(0, len(token) - 1))
    character = data.draw(st.sampled_from(sorted(set(ALPHABET + ".=+/ \n") - {token[at]})))
    for changed in (token[:at] + character + token[at + 1 :], token[:at] + token[at + 1 :], token + character):
        assert outcome(ours, changed) == "INVALID"


@pytest.mark.parametrize("padding", range(3))
def test_segments_with_bits_that_mean_nothing_are_invalid_also_when_they_are_signed(padding: int) -> None:
    """A text has one form: whoever compares tokens as texts must not be led astray."""
    body = json.dumps(claims(name="x" * padding)).encode()
    plain = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
    good = f"{part(HEADER)}.{plain}"
    assert outcome(ours, f"{good}.{signature_of(good)}") == outcome(theirs, f"{good}.{signature_of(good)}") != "INVALID"
    if len(plain) % 4:
        loose = f"{part(HEADER)}.{plain[:-1]}{ALPHABET[ALPHABET.index(plain[-1]) + 1]}"
        assert base64.urlsafe_b64decode(f"{loose.partition('.')[2]}==") == body
        assert outcome(ours, f"{loose}.{signature_of(loose)}") == "INVALID"
        assert outcome(theirs, f"{loose}.{signature_of(loose)}") == "INVALID"
    padded = f"{part(HEADER)}.{plain}="
    assert outcome(ours, f"{padded}.{signature_of(padded)}") == "INVALID"


def signature_of(text: str) -> str:
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    return base64.urlsafe_b64encode(algorithm.sign(text.encode(), KEY.encode())).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"alg": None},
        {"alg": "none"},
        {"alg": "hs256"},
        {"alg": "HS512"},
        {"alg": ["HS256"]},
        HEADER | {"crit": ["exp"]},
        HEADER | {"crit": []},
        HEADER | {"b64": False},
        HEADER | {"b64": True},
    ],
    ids=str,
)
def test_a_header_that_says_anything_else_is_invalid_also_when_it_is_signed(header: dict[str, Any]) -> None:
    text = f"{part(header)}.{part(claims())}"
    assert outcome(ours, f"{text}.{signature_of(text)}") == "INVALID"


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_either_key_of_a_rotation_is_enough_and_a_third_is_not(key: str) -> None:
    token = signed(HEADER, claims(), key)
    OwnKeys(KEY, OTHER).check_signature(token, HEADER)
    OwnKeys(OTHER, KEY, None).check_signature(token, HEADER)
    for keys in (OwnKeys("t" * 32), OwnKeys(None), OwnKeys()):
        with pytest.raises(jwt.InvalidSignatureError):
            keys.check_signature(token, HEADER)


def test_keys_are_in_no_text_of_them() -> None:
    keys = OwnKeys(KEY, OTHER)
    assert KEY not in repr(keys)
    assert OTHER not in str(keys)
    with pytest.raises(jwt.InvalidSignatureError) as caught:
        keys.check_signature(signed(HEADER, claims(), "t" * 32), HEADER)
    assert KEY not in str(caught.value)
