"""A name server on loopback, whose one name has the addresses that a test gives it."""

from __future__ import annotations

import asyncio
import ipaddress
import struct
from typing import Final, Self

NAME: Final = "replicas.test"
"""The name; every other has no address."""
_HEADER: Final = struct.Struct("!HHHHHH")
_ANSWER: Final = struct.Struct("!HHHIH4s")
_TYPE_A: Final = 1
_AUTHORITATIVE_ANSWER: Final = 0x8480
_NAME_OF_THE_QUESTION: Final = 0xC00C


class NameServer(asyncio.DatagramProtocol):
    """Answers over UDP. Use it as an async context manager; `addresses` may change at any time."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked = 0
        """How often somebody wanted the addresses."""
        self._transport: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._transport is not None
        self._transport.close()

    def target(self, port: int) -> str:
        """The gRPC target of the name with a port, looked up here."""
        assert self._transport is not None
        return f"dns://127.0.0.1:{self._transport.get_extra_info('sockname')[1]}/{NAME}:{port}"

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        number = _HEADER.unpack_from(data)[0]
        labels, place = [], _HEADER.size
        while data[place]:
            labels.append(data[place + 1 : place + 1 + data[place]].decode())
            place += 1 + data[place]
        (kind,) = struct.unpack_from("!H", data, place + 1)
        question = data[_HEADER.size : place + 5]
        found = self.addresses if ".".join(labels) == NAME and kind == _TYPE_A else []
        self.asked += bool(found)
        answers = [
            _ANSWER.pack(_NAME_OF_THE_QUESTION, _TYPE_A, 1, 0, 4, ipaddress.IPv4Address(address).packed)
            for address in found
        ]
        header = _HEADER.pack(number, _AUTHORITATIVE_ANSWER, 1, len(answers), 0, 0)
        self._transport.sendto(header + question + b"".join(answers), addr)
