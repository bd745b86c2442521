from __future__ import annotations

import pytest

from rami_kit.peers import PeerAddresses, parse_networks

EDGE = "ipv4:10.0.0.7:50412"
STRANGER = "ipv4:203.0.113.9:40000"


def seen(peer: str, *forwarded: str | bytes, trusted: str = "10.0.0.0/8, fd00::/8") -> str:
    metadata = [("authorization", "Bearer x"), *(("x-forwarded-for", value) for value in forwarded)]
    return PeerAddresses(parse_networks(trusted)).address(peer, metadata)


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("ipv4:192.0.2.1:50412", "192.0.2.1"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:50412", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8:1:2::9]:50412", "2001:db8:1:2::/64"),
        ("ipv6:%5B::ffff:192.0.2.1%5D:50412", "192.0.2.1"),
        ("ipv6:%5Bfe80::1%25eth0%5D:50412", "fe80::/64"),
        ("unix:/run/rami.sock", "local"),
        ("unix:", "local"),
        ("", "unknown"),
        ("ipv4:", "unknown"),
        ("ipv4:999.1.1.1:5", "unknown"),
        ("vsock:3:5", "unknown"),
    ],
)
def test_a_connection_counts_for_its_address(peer: str, expected: str) -> None:
    assert seen(peer) == expected


def test_the_last_hop_of_a_trusted_proxy_is_believed() -> None:
    assert seen(EDGE, "192.0.2.1") == "192.0.2.1"
    assert seen(EDGE, "6.6.6.6, 192.0.2.1") == "192.0.2.1", "what came before was written by a stranger"
    assert seen(EDGE, "6.6.6.6", "192.0.2.1") == "192.0.2.1"
    assert seen(EDGE, "2001:db8::1") == "2001:db8::/64"
    assert seen("ipv6:%5Bfd00::7%5D:1", "192.0.2.1") == "192.0.2.1"


def test_proxies_behind_proxies_are_passed_over() -> None:
    assert seen(EDGE, "6.6.6.6, 192.0.2.1, 10.0.0.9") == "192.0.2.1"
    assert seen(EDGE, "10.1.1.1,10.0.0.9") == "10.1.1.1", "who calls may live where the proxies do"
    assert seen(EDGE, "192.0.2.1," + ",".join(["10.0.0.9"] * 8)) == "10.0.0.9", "as far as anybody looks"
    assert seen(EDGE, "192.0.2.1, x, 10.0.0.9") == "10.0.0.9", "nothing is believed beyond what cannot be read"


def test_nobody_else_is_believed() -> None:
    assert seen(STRANGER, "192.0.2.1") == "203.0.113.9"
    assert seen(EDGE, "192.0.2.1", trusted="10.0.0.8") == "10.0.0.7"
    assert PeerAddresses().address(EDGE, [("x-forwarded-for", "192.0.2.1")]) == "10.0.0.7"


@pytest.mark.parametrize(
    "garbage",
    ["", ",", "x", "192.0.2", "192.0.2.1:80", "6.6.6.6, x", "1" * 5000, ", " * 5000, "192.0.2.1, ", b"192.0.2.1"],
)
def test_garbage_counts_as_the_proxy_itself(garbage: str | bytes) -> None:
    assert seen(EDGE, garbage) == "10.0.0.7"
    assert seen(EDGE, "192.0.2.1", garbage) == "10.0.0.7", "also after something that could be read"


def test_a_call_without_the_header_counts_as_the_proxy() -> None:
    assert seen(EDGE) == "10.0.0.7"
    assert PeerAddresses(parse_networks("10.0.0.0/8")).address(EDGE, None) == "10.0.0.7"


@pytest.mark.parametrize("text", ["x", "", "10.9.0.0/16,", "10.0.0.1/8", "10.0.0.0/33", "localhost", "*"])
def test_networks_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="must be addresses or networks") as caught:
        parse_networks(text)
    assert len(text) < 3 or text not in str(caught.value)
