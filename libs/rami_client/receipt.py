"""A player's own record of a match: what was promised and seen, written down while it happened.

A receipt is a file of JSON lines, private to its player (it holds the own hands). With it anybody can check
that the replay that the server hands out later is the match that was played:

    {"kind": "room", "format": 2, "room_id": …, "commitment": "<hex>", "rules_id": …, "rules_version": …,
     "options": {…}, "guards": {…}, "players": 3}
    {"kind": "entropy", "entropy": "<hex>"}    written before it is sent
    {"kind": "entropy_withdrawn"}              the server did not take it: the seat had brought some before
    {"kind": "snapshot", "version": 7, "rewound": false, "seat": 0, "seats": [{…}, …], "view": {…}}
    {"kind": "event", "version": 8, "time": "<RFC 3339>", "seat": 0, "changes": [{…}]}

Messages of the contract stand there as protobuf JSON. Events without a gap prove that nothing else happened
between them: an event always follows the line before it, and only a snapshot may skip versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from google.protobuf import json_format
from google.protobuf.timestamp_pb2 import Timestamp

from rami.game.v1 import event_pb2, room_pb2, rules_pb2, view_pb2
from rami_client.errors import BadFileError, json_complaint
from rami_engine import MalformedAction, OptionsError
from rami_wire import options_from_proto, view_from_proto, view_to_proto

if TYPE_CHECKING:
    from pathlib import Path

    from rami_client.state import Update
    from rami_engine import SeatView

FORMAT: Final = 2


@dataclass(slots=True)
class Sighting:
    """What was seen at one version: a view, or the changes that led there."""

    version: int
    changes: tuple[event_pb2.Change, ...] = ()
    view: SeatView | None = None
    """What a snapshot showed; None for an event, and for a snapshot before the match."""
    snapshot: bool = False
    seats: tuple[room_pb2.Seat, ...] = ()
    """Who sat where by a snapshot; empty for an event."""
    time: str = ""
    """When an event happened, in the store's time as RFC 3339; empty where nobody said."""


@dataclass(slots=True)
class Receipt:
    """What a client has seen of a match. `path` None keeps it in memory only."""

    path: Path | None = None
    room_id: str = ""
    """Empty until the first snapshot."""
    rules_id: str = ""
    rules_version: str = ""
    players: int = 0
    options: rules_pb2.RuleOptions = field(default_factory=rules_pb2.RuleOptions)
    guards: rules_pb2.Guards = field(default_factory=rules_pb2.Guards)
    commitment: bytes = b""
    seat: int | None = None
    """The player's seat; None while unknown."""
    entropy: bytes | None = None
    """What the player brought; None for nothing."""
    sightings: list[Sighting] = field(default_factory=list)
    """Everything seen, in the order of versions; a rewind takes back what it undid."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """A receipt that goes on in a file, or begins a new one. Raises as `load` does.

        >>> receipt = Receipt.open(folder / "receipt.jsonl")
        >>> async with client.table(started, receipt=receipt) as table:
        ...     receipt.seat == table.seat
        True
        """
        if not path.exists():
            path.touch(mode=0o600)
            return cls(path)
        receipt = cls.load(path)
        receipt.path = path
        return receipt

    @classmethod
    def load(cls, path: Path) -> Self:
        """The receipt of a file. Raises BadFileError, naming the line, and OSError.

        >>> async with client.table(started, receipt=Receipt.open(folder / "kept.jsonl")):
        ...     Receipt.load(folder / "kept.jsonl").room_id == started
        True
        """
        receipt = cls()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise BadFileError(path, "is no text") from error
        for number, line in enumerate(text.splitlines(), 1):
            try:
                receipt._read(json.loads(line))
            except (MalformedAction, OptionsError) as error:
                raise BadFileError(path, f"makes no sense: {error}", number) from error
            except json_format.ParseError as error:
                raise BadFileError(path, f"is no line of a receipt: {json_complaint(error)}", number) from error
            except KeyError as error:
                raise BadFileError(path, f"is no line of a receipt: it has no {error}", number) from error
            except TypeError as error:
                raise BadFileError(path, "is no line of a receipt: a value has the wrong type", number) from error
            except ValueError as error:
                raise BadFileError(path, f"is no line of a receipt: {error}", number) from error
        if not receipt.room_id:
            raise BadFileError(path, "is no receipt: it names no room")
        return receipt

    def saw(self, update: Update, seat: int | None) -> None:
        """Writes down a step of the room. Raises BadFileError for another room than before.

        >>> receipt, updates = Receipt(), watching.updates()
        >>> changed = await client.update_seats(room.room_id, {1: "easy"})
        >>> receipt.saw(await anext(updates), watching.seat)
        >>> [seen.version for seen in receipt.sightings] == [changed.version]
        True
        """
        room = update.room
        if self.room_id not in ("", room.room_id):
            raise BadFileError(self.path, f"is the receipt of another room, {self.room_id}")
        if not self.room_id:
            self._write(
                {
                    "kind": "room",
                    "format": FORMAT,
                    "room_id": room.room_id,
                    "commitment": room.commitment.hex(),
                    "rules_id": room.rules_id,
                    "rules_version": room.rules_version,
                    "options": json_format.MessageToDict(room.options.rules),
                    "guards": json_format.MessageToDict(room.guards),
                    "players": room.options.seats,
                }
            )
        if update.snapshot:
            shown = view_to_proto(update.view) if update.view is not None else None
            self._write(
                {
                    "kind": "snapshot",
                    "version": update.version,
                    "rewound": update.rewound,
                    "seat": seat,
                    "seats": [json_format.MessageToDict(held) for held in room.seats],
                    "view": json_format.MessageToDict(shown) if shown is not None else None,
                }
            )
        else:
            changes = [json_format.MessageToDict(change) for change in update.changes]
            time = update.time.ToJsonString() if update.time is not None else ""
            self._write({"kind": "event", "version": update.version, "time": time, "seat": seat, "changes": changes})

    def brings(self, entropy: bytes) -> None:
        """Writes down the entropy that is about to be sent.

        >>> receipt = Receipt()
        >>> receipt.brings(bytes(32))
        >>> receipt.entropy == bytes(32)
        True
        """
        self._write({"kind": "entropy", "entropy": entropy.hex()})

    def withdraws_entropy(self) -> None:
        """Writes down that the server did not take it.

        >>> receipt = Receipt(entropy=bytes(32))
        >>> receipt.withdraws_entropy()
        >>> receipt.entropy is None
        True
        """
        self._write({"kind": "entropy_withdrawn"})

    def _write(self, entry: dict[str, Any]) -> None:
        # Written through at once, on purpose: a line must be in the file before what it promises is sent.
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._read(entry)

    def _read(self, entry: dict[str, Any]) -> None:
        match entry["kind"]:
            case "room":
                if entry["format"] != FORMAT:
                    raise ValueError(f"format {entry['format']} is not known")
                self.room_id = str(entry["room_id"])
                self.commitment = bytes.fromhex(entry["commitment"])
                self.rules_id, self.rules_version = str(entry["rules_id"]), str(entry["rules_version"])
                self.players = int(entry["players"])
                json_format.ParseDict(entry["options"], self.options)
                options_from_proto(self.options, "options")  # for its errors alone
                json_format.ParseDict(entry["guards"], self.guards)
            case "entropy":
                self.entropy = bytes.fromhex(entry["entropy"])
            case "entropy_withdrawn":
                self.entropy = None
            case "snapshot":
                self._read_snapshot(entry)
            case "event":
                changes = tuple(json_format.ParseDict(change, event_pb2.Change()) for change in entry["changes"])
                self._read_seat(entry)
                time = str(entry["time"])
                if time:
                    Timestamp().FromJsonString(time)  # for its errors alone
                self.sightings.append(Sighting(int(entry["version"]), changes, time=time))
            case kind:
                raise ValueError(f"kind {kind!r} is not known")

    def _read_snapshot(self, entry: dict[str, Any]) -> None:
        version = int(entry["version"])
        if entry["rewound"]:
            self.sightings = [seen for seen in self.sightings if seen.version < version]
        view = None
        if entry["view"] is not None:
            view = view_from_proto(json_format.ParseDict(entry["view"], view_pb2.SeatView()))
        self._read_seat(entry)
        seats = tuple(json_format.ParseDict(seat, room_pb2.Seat()) for seat in entry["seats"])
        self.sightings.append(Sighting(version, view=view, snapshot=True, seats=seats))

    def _read_seat(self, entry: dict[str, Any]) -> None:
        if entry["seat"] is not None:
            self.seat = int(entry["seat"])
