"""Play: a room followed and played in on one stream.

Actions are judged one after the other as they come; what became of each goes out with, or after, the event it made.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from game_state.play_notices import STREAM_ID_BYTES
from game_state.seats import require_seat
from game_state.streams import RoomStream, StreamParts, require_room_id
from rami.game.v1 import game_service_pb2 as pb
from rami_kit.error_texts import current_locale
from rami_kit.errors import InvalidRequest, RamiError, reasons, to_status
from rami_kit.rates import charge_message
from rami_kit.request_ids import REQUEST_ID_LENGTH
from rami_kit.tracing import in_span
from rami_wire import encode_varint, field_heads, varint_tag

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from game_state.actions import ActionPlayer

_FIELDS: Final = pb.ActionResult.DESCRIPTOR.fields_by_name
_REQUEST_ID: Final = field_heads(_FIELDS["request_id"].number, REQUEST_ID_LENGTH)[REQUEST_ID_LENGTH]
_VERSION: Final = varint_tag(_FIELDS["version"].number)
MAX_ECHO: Final = 64
"""Characters of a bad request id that come back with its refusal."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def played_stream(
    parts: StreamParts, actions: ActionPlayer, player_id: str, requests: AsyncIterator[pb.PlayRequest]
) -> AsyncIterator[RoomStream]:
    """The stream of a player whose requests are played meanwhile; its messages are serialized PlayResponses.

    Raises InvalidRequest unless the first request is a hello; PERMISSION_DENIED NOT_SEATED; and what opening a
    watching stream raises. What is wrong with a later request ends the stream.
    """
    first = await anext(requests, None)
    if first is None or first.WhichOneof("request") != "hello":
        raise InvalidRequest("hello", "must be the first request of the stream")
    hello = first.hello
    room_id = require_room_id(hello.room_id)
    seat = require_seat(await parts.repository.get(room_id), player_id)
    stream = RoomStream(parts, room_id, player_id, hello.cursor, legal_actions=hello.legal_actions)
    async with stream:
        stream_id = os.urandom(STREAM_ID_BYTES)
        stream.watcher.plays(seat)
        stream.watcher.announced(await parts.repository.announce_play(room_id, seat, stream_id))
        reader = asyncio.create_task(_read(stream, actions, room_id, player_id, requests), name="play-reader")
        try:
            yield stream
        finally:
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await reader


async def _read(
    stream: RoomStream,
    actions: ActionPlayer,
    room_id: str,
    player_id: str,
    requests: AsyncIterator[pb.PlayRequest],
) -> None:
    """Play every action that comes. What is wrong with the stream itself ends it."""
    try:
        async for request in requests:
            if stream.closing:
                return  # it is not taken: whoever sent it sends it again elsewhere
            if request.WhichOneof("request") != "action":
                stream.fail(InvalidRequest("action", "must be set in every request after the hello"))
                return
            stream.judging = True
            try:
                await stream.room_for_result()
                stream.add_result(*await _play(actions, room_id, player_id, request.action))
            finally:
                stream.judging = False
    except Exception as error:  # noqa: BLE001 - handed to the stream, which ends with it
        stream.fail(error)


async def _play(actions: ActionPlayer, room_id: str, player_id: str, action: pb.PlayAction) -> tuple[int, bytes]:
    """The version that an action made, 0 for none, and the serialized ActionResult."""
    request_id = action.request_id
    try:
        charge_message()
        # A stream lives for long: each action is a trace of its own, or goes on with its client's.
        playing = actions.play(room_id, player_id, request_id, action.expected_version, action.action)
        changed = await in_span(playing, "play-action", action.trace_parent, room=room_id)
    except RamiError as error:
        return 0, _refused(request_id, error)
    except Exception:  # noqa: BLE001 - a defect in one action is told as INTERNAL and logged whole
        _log.exception("playing an action failed")
        return 0, _refused(request_id, RamiError(reasons.ERROR_REASON_INTERNAL, "playing the action failed"))
    version = changed.version
    return version, b"".join((_REQUEST_ID, request_id.encode(), _VERSION, encode_varint(version)))


def _refused(request_id: str, error: RamiError) -> bytes:
    # What is no UUID is refused; of a text without end, as much comes back as tells its sender which one it was.
    result = pb.ActionResult(request_id=request_id[:MAX_ECHO], error=to_status(error, current_locale()))
    return result.SerializeToString()
