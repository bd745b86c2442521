"""Requests that no client would send: valid ones, broken in every way in which bytes and values can be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

MessageT = TypeVar("MessageT", bound=Message)

LONGEST: Final = 60_000
"""Bytes of a broken request: just below what a service takes, since above that nothing looks at it."""
DEEP: Final = 120
"""Levels of messages within messages; parsers give up at about 100."""

_NUMBERS: Final = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    51,
    52,
    53,
    99,
    100,
    101,
    255,
    256,
    65_535,
    2**31 - 1,
    2**32 - 1,
    2**63 - 1,
    2**64 - 1,
)
_TEXTS: Final = (
    "",
    " ",
    "\0",
    "0",
    "-1",
    "1" * 40,
    "٣",
    "p0-aaaaaaaaaaaaaaaa",
    "p1023-aaaaaaaaaaaaaaaa",
    "p0-" + "a" * 5000,
    "{p0}:room:x",
    "easy",
    "bot:easy",
    "../../etc/passwd",
    "%s%n%x",
    "\u202e\u2066\ufeff",
    "e\u0301" * 500,
    "👨‍👩‍👧‍👦" * 40,
    "x" * 30_000,
    "AAAAAA==",
    "ABCDEF",
    "00000000-0000-4000-8000-000000000000",
    "00000000-0000-1000-8000-000000000000",
    "*\r\n$3\r\nGET\r\n",
)
_BYTES: Final = (b"", b"\0", b"\xff" * 16, b"\0" * 16, b"x" * 32, b"x" * 33, b"x" * 30_000)
_LIMITS: Final = {
    Field.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    Field.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    Field.CPPTYPE_UINT32: (0, 2**32 - 1),
    Field.CPPTYPE_UINT64: (0, 2**64 - 1),
    Field.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
}
_HUGE: Final = (b"\xff" * 9 + b"\x01", b"\xff" * 10, b"\xff" * 11, b"\x80" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f")


class Fuzzer:
    """Breaks requests; the same random source makes the same."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._breaks: Sequence[Callable[[bytes], bytes]] = (
            self._flip,
            self._cut,
            self._drop,
            self._repeat,
            self._unknown,
            self._huge_number,
            self._wrong_type,
            self._no_text,
            self._nest,
            self._lie_about_length,
            self._noise,
        )

    def broken(self, message: Message) -> bytes:
        """A request made from a valid one: its values wrong, its bytes wrong, both, or now and then as it is."""
        chance = self._chance
        kind = chance.random()
        if kind < 0.75:
            message = self.distorted(message)
        raw = message.SerializeToString()
        if kind >= 0.55:
            for _ in range(chance.choice((1, 1, 1, 2, 5)) if kind < 0.95 else 0):
                raw = chance.choice(self._breaks)(raw)
        return raw[:LONGEST]

    def distorted(self, message: MessageT) -> MessageT:
        """A copy with some values wrong, which parses."""
        copy = type(message)()
        copy.CopyFrom(message)
        for _ in range(self._chance.choice((1, 1, 1, 2, 3, 8))):
            self._distort(copy)
        return copy

    # Values.

    def _distort(self, message: Message) -> None:
        """Set one field, here or somewhere below, to something extreme."""
        chance = self._chance
        fields: Any = message.DESCRIPTOR.fields
        if not fields:
            return
        field = chance.choice(fields)
        if chance.random() < 0.1:
            message.ClearField(field.name)
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            return
        elif field.is_repeated:
            self._distort_list(getattr(message, field.name), field)
        elif field.message_type is not None:
            inner = getattr(message, field.name)
            inner.SetInParent()
            self._distort(inner)
        else:
            setattr(message, field.name, self._value(field))

    def _distort_list(self, items: Any, field: Field) -> None:
        chance = self._chance
        if items and chance.random() < 0.3:
            del items[chance.randrange(len(items)) :]
            return
        for _ in range(chance.choice((1, 1, 1, 1, 1, 1, 2, 2, 5, 100))):
            if field.message_type is None:
                items.append(self._value(field))
            elif items and chance.random() < 0.5:
                items.append(chance.choice(items))
            else:
                self._distort(items.add())

    def _value(self, field: Field) -> Any:
        chance = self._chance
        kind = field.cpp_type
        if kind == Field.CPPTYPE_BOOL:
            return chance.random() < 0.5
        if kind == Field.CPPTYPE_STRING:
            if field.type == Field.TYPE_BYTES:
                return chance.choice((*_BYTES, chance.randbytes(chance.randrange(64))))
            return chance.choice(_TEXTS)
        if kind in {Field.CPPTYPE_DOUBLE, Field.CPPTYPE_FLOAT}:
            return chance.choice(
                (0.0, -1.0, 1e300 if kind == Field.CPPTYPE_DOUBLE else 1e30, float("nan"), float("inf"))
            )
        least, most = _LIMITS[kind]
        number = chance.choice((-1, 1)) * chance.choice(_NUMBERS)
        return min(max(number, least), most)

    # Bytes.

    def _place(self, raw: bytes) -> int:
        return self._chance.randrange(len(raw) + 1)

    def _flip(self, raw: bytes) -> bytes:
        changed = bytearray(raw)
        for _ in range(self._chance.randint(1, 8) if raw else 0):
            changed[self._chance.randrange(len(raw))] ^= 1 << self._chance.randrange(8)
        return bytes(changed)

    def _cut(self, raw: bytes) -> bytes:
        return raw[: self._place(raw)]

    def _drop(self, raw: bytes) -> bytes:
        place = self._place(raw)
        return raw[:place] + raw[place + self._chance.randint(1, 4) :]

    def _repeat(self, raw: bytes) -> bytes:
        return raw * self._chance.choice((2, 2, 3, 50))

    def _unknown(self, raw: bytes) -> bytes:
        number = self._chance.choice((0, 15, 16, 999, 19_000, 2**29 - 1, 2**29, 2**32))
        kind = self._chance.randrange(8)
        body = self._chance.choice((b"", b"\0", b"\x03abc", b"12345678", _HUGE[0]))
        return raw + _varint(number << 3 | kind) + body

    def _huge_number(self, raw: bytes) -> bytes:
        place = self._place(raw)
        return raw[:place] + self._chance.choice(_HUGE) + raw[place + 1 :]

    def _wrong_type(self, raw: bytes) -> bytes:
        if not raw:
            return b"\x07"
        place = 0 if self._chance.random() < 0.5 else self._chance.randrange(len(raw))
        return raw[:place] + bytes((raw[place] & 0xF8 | self._chance.randrange(8),)) + raw[place + 1 :]

    def _no_text(self, raw: bytes) -> bytes:
        """Bytes that are no UTF-8, where a text may stand."""
        place = self._place(raw)
        wrong = self._chance.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80"))
        return raw[:place] + wrong + raw[place + len(wrong) :]

    def _nest(self, raw: bytes) -> bytes:
        tag = _varint(self._chance.randint(1, 5) << 3 | 2)
        inner = raw[:64]
        if self._chance.random() < 0.5:
            return _varint(self._chance.randint(1, 5) << 3 | 3) * DEEP + inner
        for _ in range(self._chance.choice((2, 5, 20, DEEP))):
            inner = tag + _varint(len(inner)) + inner
        return inner

    def _lie_about_length(self, raw: bytes) -> bytes:
        place = self._place(raw)
        lie = _varint(self._chance.choice((0, 1, 127, 2**14, 2**31 - 1, 2**32, 2**62)))
        return raw[:place] + _varint(self._chance.randint(1, 8) << 3 | 2) + lie + raw[place:]

    def _noise(self, raw: bytes) -> bytes:
        place = self._place(raw)
        return raw[:place] + self._chance.randbytes(self._chance.choice((1, 8, 100, 2000))) + raw[place:]


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
