"""Making rooms: for a host, for a matched table, for a rematch. Each exactly once for what asks for it.

The id of a room is derived from whoever asks and the id of the request, by a keyed hash: asking again finds the
room that is there, on any replica, and nobody can guess where another's room will be.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final

from game_state import lobby
from game_state.draft import Draft, TableTimes
from game_state.lobby import NewRoom, blank_room
from game_state.repository import CommitConflict, JoinCodeTaken
from game_state.requests import request_id_reused
from rami_kit import keys
from rami_kit.errors import StoreUnavailable

if TYPE_CHECKING:
    from game_state.chains import ChainPool
    from game_state.repository import RoomRepository
    from game_state.room import Room, RoomOptions, Seat
    from rami_engine import Guards

FINGERPRINT_BYTES: Final = 8
"""Of what a creator asked for, to tell a repeat from another wish under the same id."""
_TOKEN_BYTES: Final = keys.ROOM_TOKEN_LENGTH * 5 // 8
"""Of which base 32 makes the random part of an id."""
_CODE_ATTEMPTS: Final = 8


class RoomMaker:
    """Creates rooms. One per process."""

    def __init__(
        self,
        repository: RoomRepository,
        chains: ChainPool,
        times: TableTimes,
        guards: Guards,
        *,
        id_key: bytes,
        partitions: int,
    ) -> None:
        self._repository = repository
        self._chains = chains
        self._times = times
        self._guards = guards
        self._id_key = id_key
        self._partitions = partitions

    def room_id(self, *parts: str) -> str:
        """The id of the room that these parts ask for; the same parts always give the same."""
        digest = hmac.new(self._id_key, "\0".join(parts).encode(), hashlib.sha256).digest()
        partition = int.from_bytes(digest[_TOKEN_BYTES : _TOKEN_BYTES + 4]) % self._partitions
        token = base64.b32encode(digest[:_TOKEN_BYTES]).decode().lower()
        return keys.format_room_id(partition, token)

    async def create(
        self,
        room_id: str,
        options: RoomOptions,
        seats: tuple[Seat, ...],
        *,
        host: str,
        payload: bytes,
        match_id: bytes = b"",
    ) -> tuple[Room, bool]:
        """The room with this id, created now or before, and whether it was created now.

        Raises REQUEST_ID_REUSED when it was created from another payload, and StoreUnavailable.
        """
        fingerprint = hashlib.blake2b(payload, digest_size=FINGERPRINT_BYTES).digest()
        chain, commitment = await self._chains.take()
        for _ in range(_CODE_ATTEMPTS):
            new = NewRoom(
                room_id=room_id,
                options=options,
                guards=self._guards,
                seats=seats,
                host=host,
                join_code=self._join_code(room_id, options, match_id),
                chain=chain,
                commitment=commitment,
                fingerprint=fingerprint,
                match_id=match_id,
            )
            now_ms = self._repository.now_ms()
            before = blank_room(new, now_ms)
            draft = Draft(before, now_ms, self._times)
            lobby.create(draft)
            try:
                await self._repository.commit(before, draft)
            except JoinCodeTaken:
                continue
            except CommitConflict as conflict:
                if conflict.current is None or conflict.current.create_fingerprint != fingerprint:
                    raise request_id_reused() from None
                if not await self._repository.keep(conflict.current):
                    continue  # it has moved on in this moment
                return conflict.current, False
            return draft.room, True
        raise StoreUnavailable("no free join code was found")

    def _join_code(self, room_id: str, options: RoomOptions, match_id: bytes) -> str:
        """A fresh code for a private room that players fill; none for others."""
        if options.public or match_id:
            return ""
        place = keys.parse_room_id(room_id)
        assert place is not None, "made by room_id"
        code = "".join(secrets.choice(keys.CROCKFORD) for _ in range(keys.JOIN_CODE_LENGTH))
        return keys.format_join_code(place[0], code, self._partitions)
