"""Receipts: what is written comes back, rewinds take back, and broken files are refused with their line."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from rami.game.v1 import event_pb2
from rami_client import BadFileError, Receipt
from rami_client.state import RoomMirror
from support.matches import ENTROPY, fallback, new_room, played_match

if TYPE_CHECKING:
    from pathlib import Path


def written(path: Path) -> Receipt:
    """The receipt of a short match, written to a file."""
    room = new_room(["ann", "bob"])
    receipt = Receipt.open(path)
    mirror = RoomMirror(player_id="ann")
    receipt.saw(mirror.take_snapshot(room.snapshot(0, rewound=False)), mirror.seat)
    receipt.brings(ENTROPY)
    room.bring_entropy(0, ENTROPY)
    room.start()
    for _ in range(6):
        room.play(*fallback(room), event_pb2.ACTION_SOURCE_PLAYER)
    for event in room.events_after(mirror.version, 0):
        update = mirror.take_event(event)
        assert update is not None
        receipt.saw(update, mirror.seat)
    receipt.saw(mirror.take_snapshot(room.snapshot(0, rewound=False)), mirror.seat)
    return receipt


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    receipt = written(path)
    loaded = Receipt.load(path)
    loaded.path = path
    assert loaded == receipt
    assert loaded.entropy == ENTROPY
    assert loaded.seat == 0
    assert loaded.sightings[-1].view is not None


def test_only_the_player_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    written(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_entropy_is_in_the_file_before_anything_follows(tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    receipt = Receipt.open(path)
    receipt.brings(ENTROPY)
    assert json.loads(path.read_text())["entropy"] == ENTROPY.hex()


def test_a_withdrawn_entropy_is_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    written(path).withdraws_entropy()
    assert Receipt.load(path).entropy is None


def test_a_receipt_goes_on_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    seen = len(written(path).sightings)
    receipt = Receipt.open(path)
    room = new_room(["ann", "bob"])
    receipt.saw(RoomMirror(seat=0).take_snapshot(room.snapshot(0, rewound=False)), 0)
    assert len(Receipt.load(path).sightings) == seen + 1


def test_a_receipt_is_of_one_room(tmp_path: Path) -> None:
    receipt = written(tmp_path / "receipt.jsonl")
    room = new_room(["ann", "bob"])
    room.room_id = "p0-other"
    with pytest.raises(BadFileError, match="another room"):
        receipt.saw(RoomMirror(seat=0).take_snapshot(room.snapshot(0, rewound=False)), 0)


def test_a_rewind_takes_back_what_did_not_happen() -> None:
    room, _, receipt = played_match(["ann", "bob"])
    room.rewind(5)
    receipt.saw(RoomMirror(seat=0).take_snapshot(room.snapshot(0, rewound=True)), 0)
    assert [seen.version for seen in receipt.sightings] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 2: is no line of a receipt"),
        ("[]", "line 2: is no line of a receipt"),
        ('{"kind": "unheard"}', "line 2: .*'unheard' is not known"),
        ('{"kind": "entropy", "entropy": "xyz"}', "line 2: is no line of a receipt"),
        ('{"kind": "event", "version": 3, "seat": 0, "changes": [{"no": 1}]}', "the field 'no', which is not"),
        (
            '{"kind": "snapshot", "version": 3, "rewound": false, "seat": 0, "view": {"players": 9}}',
            "line 2: makes no sense",
        ),
        ('{"kind": "room", "format": 3}', "line 2: .*format 3 is not known"),
        ('{"kind": "event", "version": 3, "seat": 0, "changes": []}', "line 2: .*it has no 'time'"),
        ('{"kind": "event", "version": 3, "seat": 0, "time": "noon", "changes": []}', "line 2: is no line"),
    ],
)
def test_a_broken_line_is_named(line: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    written(path)
    first = path.read_text().splitlines()[0]
    path.write_text(f"{first}\n{line}\n")
    with pytest.raises(BadFileError, match=complaint) as caught:
        Receipt.load(path)
    assert caught.value.line == 2


@pytest.mark.parametrize("content", [b"", b'{"kind": "entropy", "entropy": "00"}\n', b"\xff\xff"])
def test_a_file_that_is_no_receipt_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "receipt.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadFileError):
        Receipt.load(path)
