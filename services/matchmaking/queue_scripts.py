"""The Lua scripts through which an index follows the queue. They only read."""

from __future__ import annotations

from typing import Final

from rami_kit.redis_store import Script

FOLLOW: Final = Script(
    "follow_queue",
    """
-- Reads what has changed in the queue.
-- KEYS: changes, waiting
-- ARGV: last id seen, most entries
-- Reply: [how many changes there have ever been (-1 without a stream), how many tickets wait or form, entries...]
local live = redis.call('ZCARD', KEYS[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {-1, live}
end
local info = redis.call('XINFO', 'STREAM', KEYS[1])
local added = 0
for i = 1, #info, 2 do
  if info[i] == 'entries-added' then
    added = info[i + 1]
  end
end
return {added, live, unpack(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2]))}
""",
)

SURVEY: Final = Script(
    "survey_queue",
    """
-- Reads which tickets wait or form, and where the stream of changes stands at that moment.
-- KEYS: changes, waiting
-- Reply: [how many changes there have ever been (0 without a stream), id of the last, ids of all those tickets]
local added, last = 0, '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'entries-added' then
      added = info[i + 1]
    elseif info[i] == 'last-generated-id' then
      last = info[i + 1]
    end
  end
end
return {added, last, redis.call('ZRANGE', KEYS[2], 0, -1)}
""",
)

__all__ = ["FOLLOW", "SURVEY"]
