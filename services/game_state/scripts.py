"""The Lua scripts of rooms. Each is one atomic step in the slot of the room's partition.

Values are compared and stored as opaque bytes; what is in them is `codec.py`'s and `steps.py`'s.
"""

from __future__ import annotations

from typing import Final

from rami_kit.redis_store import Script

COMMIT: Final = Script(
    "commit",
    """
-- Commits a step: only onto the version and commit id that it was made from.
-- KEYS 1 room, 2 log, 3 due, then one for each letter of ARGV 10, in its order
-- ARGV 1 header of the version before (empty: the room must not exist), 2 new header and state,
--      3 new version, 4 encoded step, 5 TTL in ms, 6 due time in ms, 7 room token, 8 channel, 9 message,
--      10 letters: c join code, o public listing left, i public listing entered, f finished matches,
--      11 creation time in ms, 12 encoded finished match, 13 about how many finished matches to keep
-- Returns 1 when committed, the stored value of the room when another step came first, 0 when there is no
-- room although there should be, 2 when the join code is another room's. Nothing is written but with 1.
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then
  return redis.call('GET', KEYS[1]) or 0
end
local extra = {}
for place = 1, #ARGV[10] do extra[string.sub(ARGV[10], place, place)] = KEYS[3 + place] end
if extra.c then
  local owner = redis.call('GET', extra.c)
  if owner and owner ~= ARGV[7] then return 2 end
end
redis.call('XADD', KEYS[2], ARGV[3] .. '-0', 's', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[5])
redis.call('ZADD', KEYS[3], ARGV[6], ARGV[7])
if extra.c then redis.call('SET', extra.c, ARGV[7], 'PX', ARGV[5]) end
if extra.o then redis.call('ZREM', extra.o, ARGV[7]) end
if extra.i then redis.call('ZADD', extra.i, ARGV[11], ARGV[7]) end
if extra.f then redis.call('XADD', extra.f, 'MAXLEN', '~', ARGV[13], '*', 'm', ARGV[12]) end
redis.call('SPUBLISH', ARGV[8], ARGV[9])
return 1
""",
)

CLOSE: Final = Script(
    "close",
    """
-- Commits the last step of a room: tells the watchers and removes every trace of the room.
-- KEYS 1 room, 2 log, 3 due, 4.. listings and join code
-- ARGV 1 header of the version before, 2 room token, 3 channel, 4 message, 5 number of listings
-- Returns 1 when removed, the stored value when another step came first, 0 when the room is gone already.
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then
  return redis.call('GET', KEYS[1]) or 0
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[2])
local listings = tonumber(ARGV[5])
for place = 4, 3 + listings do redis.call('ZREM', KEYS[place], ARGV[2]) end
if KEYS[4 + listings] then redis.call('DEL', KEYS[4 + listings]) end
redis.call('SPUBLISH', ARGV[3], ARGV[4])
return 1
""",
)

KEEP: Final = Script(
    "keep",
    """
-- Writes a room's expiry once more: whoever waits for that write to be durable waits for the room as it stands.
-- KEYS 1 room
-- ARGV 1 header of the room
-- Returns 1, or 0 when the room is at another step or gone: nothing is written then.
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]))
return 1
""",
)

CLAIM_DUE: Final = Script(
    "claim_due",
    """
-- Claims rooms of a partition in which something is due, for the length of the lease.
-- KEYS 1 due
-- ARGV 1 lease in ms, 2 most rooms, 3 prefix of room keys
-- Returns the tokens of claimed rooms, each followed by how late it is in ms; drops rooms that are gone. What a
-- slot on its way breaks off in the middle has only claimed or dropped some, as it should.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local claimed = {}
for place = 1, #due, 2 do
  local token = due[place]
  if redis.call('EXISTS', ARGV[3] .. token) == 1 then
    redis.call('ZADD', KEYS[1], now + ARGV[1], token)
    claimed[#claimed + 1] = token
    claimed[#claimed + 1] = now - due[place + 1]
  else
    redis.call('ZREM', KEYS[1], token)
  end
end
return claimed
""",
    finds_keys=True,
)

ANNOUNCE_PLAY: Final = Script(
    "play_notice",
    """
-- Publishes that a seat has opened a Play stream, with the store's time as its order among others.
-- KEYS 1 room, which is neither read nor written: it only says where
-- ARGV 1 channel, 2 kind and seat, 3 stream id
-- Returns the order: the time in microseconds, 16 digits.
local clock = redis.call('TIME')
local order = string.format('%010d%06d', clock[1], clock[2])
redis.call('SPUBLISH', ARGV[1], ARGV[2] .. order .. ARGV[3])
return order
""",
)

HAND_OVER: Final = Script(
    "hand_over",
    """
-- Lets any replica claim rooms of a partition now, whose driver ends.
-- KEYS 1 due
-- ARGV room tokens
-- Returns how many rooms were due later than now. Rooms that are gone stay so.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local changed = 0
for _, token in ipairs(ARGV) do
  local due = redis.call('ZSCORE', KEYS[1], token)
  if due and tonumber(due) > now then
    redis.call('ZADD', KEYS[1], now, token)
    changed = changed + 1
  end
end
return changed
""",
)

NOTE_OWN_ROOM: Final = Script(
    "note_own_room",
    """
-- Puts a room among those that a player sits in or hosts.
-- KEYS 1 the player's set: rooms by the store time, in ms, at which they were created
-- ARGV 1 room id, 2 its creation time in ms, 3 most rooms, 4 TTL in ms
-- Returns 1. Of more rooms than the most the oldest go.
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
""",
)

TAKE_PLACE: Final = Script(
    "take_place",
    """
-- Gives a room a place among those that its player hosts, unless it has one.
-- KEYS 1 the player's set of places: rooms by the store time, in ms, at which each took its own
-- ARGV 1 room id, 2 most rooms, 3 TTL in ms
-- Returns 1, or, when all places are taken, every room followed by the age of its place in ms.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
    local rooms = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
    for place = 2, #rooms, 2 do rooms[place] = now - rooms[place] end
    return rooms
  end
  redis.call('ZADD', KEYS[1], now, ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
""",
)
