"""Reading the streams of finished matches as one of several consumer groups.

Every match that ends is written to the stream of its partition by the commit that ends it. A group gets each entry at
least once: it is acknowledged when the handler has returned, and what a crashed process has left unacknowledged is
delivered again after a while, to whoever asks. All processes of a group share one consumer: its name is only a label,
and no dead consumer ever stays behind.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from rami_kit import keys
from rami_kit.errors import StoreUnavailable
from rami_kit.redis_store import Script

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rami_kit.redis_store import Store

ENTRIES_AT_ONCE: Final = 100
POLL_SECONDS: Final = 0.5
CONSUMER: Final = "shared"

_log = logging.getLogger(__name__)

_DRAW: Final = Script(
    "draw_finished",
    """
-- Delivers finished matches: first what was delivered before and not acknowledged in time, then what is new.
-- KEYS: stream
-- ARGV: group, consumer, most entries, ms after which an entry is delivered again
-- Reply: entries, each [id, fields]
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local again = redis.pcall('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[4], '0-0', 'COUNT', ARGV[3])
if again.err then
  if not string.find(again.err, 'NOGROUP', 1, true) then
    return again
  end
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0')
  again = {'0-0', {}}
end
local entries = again[2]
local room = ARGV[3] - #entries
if room > 0 then
  local new = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', room, 'STREAMS', KEYS[1], '>')
  if new then
    for _, entry in ipairs(new[1][2]) do
      entries[#entries + 1] = entry
    end
  end
end
return entries
""",
)


class FinishedStream:
    """What one group reads of the streams of all partitions."""

    def __init__(self, store: Store, group: str, *, partitions: int, redeliver_seconds: float) -> None:
        """Entries that were delivered and not acknowledged for `redeliver_seconds` are delivered again."""
        self._store = store
        self._group = group
        self._partitions = partitions
        self._redeliver_ms = round(redeliver_seconds * 1000)

    async def run(self, handle: Callable[[bytes], Awaitable[None]]) -> None:
        """Hand every encoded rami.store.v1.FinishedMatch to a handler, for ever.

        One that raises gets its entry again later; after StoreUnavailable the rest of the batch comes again too.
        """
        while True:
            full = False
            for outcome in await asyncio.gather(
                *(self.read_partition(partition, handle) for partition in range(self._partitions)),
                return_exceptions=True,
            ):
                if isinstance(outcome, bool):
                    full |= outcome
                elif isinstance(outcome, Exception) and not isinstance(outcome, StoreUnavailable):
                    _log.error("finished matches cannot be read by %s", self._group, exc_info=outcome)
            if not full:
                await asyncio.sleep(POLL_SECONDS)

    async def read_partition(self, partition: int, handle: Callable[[bytes], Awaitable[None]]) -> bool:
        """Hand over what one stream has now, up to ENTRIES_AT_ONCE; whether there may be more.

        Raises StoreUnavailable; what is not acknowledged then is delivered again.
        """
        stream = keys.finished_key(partition)
        entries = await self._store.run(_DRAW, [stream], [self._group, CONSUMER, ENTRIES_AT_ONCE, self._redeliver_ms])
        for entry_id, fields in entries:
            try:
                await handle(dict(zip(fields[::2], fields[1::2], strict=True)).get(b"m", b""))
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - logged whole; it must not hold up the entries behind it
                _log.exception("%s could not take a finished match, which will be delivered again", self._group)
                continue
            await self._store.write("XACK", stream, self._group, entry_id)
        return len(entries) == ENTRIES_AT_ONCE


__all__ = ["CONSUMER", "ENTRIES_AT_ONCE", "FinishedStream"]
