"""The Lua scripts through which all tickets and claims change. Each is one atomic step of a ticket's life:

    (none) -CREATE-> WAITING -CLAIM-> CLAIMED -ASSIGN-> MATCHED
                      |  |  ^------RETURN-----'
                      |  '-EXPIRE-> EXPIRED
                      '-CANCEL----> CANCELLED

A ticket's hash has the fields s state (a TicketState number), d record, p player id, f fingerprint of the
wishes, t creation in ms, b rest until ms, n rooms that could not be created, c match id while claimed, r
room id, e seat. Waiting tickets stand in the waiting set; whatever comes into or leaves it is told in the
changes stream, in the same step, so that an index that follows the stream misses nothing. The store's
clock is the only one.

Keys that a script finds out by itself (those of tickets in a set, of their players) lie in the same slot as the
ones it is given. It looks at them before it writes: on a cluster whose slot is on its way, one that is not
there ends the script, which must not be half done then.
"""

from __future__ import annotations

from typing import Final

from rami_kit import keys
from rami_kit.redis_store import Script

_PRELUDE: Final = f"""
local WAITING, CLAIMED, MATCHED, CANCELLED, EXPIRED = '1', '2', '3', '4', '5'
local CHANGES, CHANNEL = '{keys.queue_changes_key()}', '{keys.ticket_channel()}'
local TICKET, LIVE = '{keys.ticket_key("")}', '{keys.live_ticket_key("")}'
local MOST_CHANGES = 20000
-- Sets are gone when they are empty; this is for the case that nobody is left to empty them.
local SET_MS = 86400000

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function text(number)
  return string.format('%.0f', number)
end

-- The ticket came into the queue: everything an index needs to know of it.
local function tell_in(id, keep_ms)
  local fields = redis.call('HMGET', TICKET .. id, 'd', 't', 'b')
  redis.call('XADD', CHANGES, 'MAXLEN', '~', MOST_CHANGES, '*',
    'i', id, 'd', fields[1] or '', 't', fields[2] or '', 'b', fields[3] or '0')
  redis.call('PEXPIRE', CHANGES, keep_ms)
  redis.call('SPUBLISH', CHANNEL, id)
end

-- The ticket left the queue.
local function tell_out(id, keep_ms)
  redis.call('XADD', CHANGES, 'MAXLEN', '~', MOST_CHANGES, '*', 'i', id)
  redis.call('PEXPIRE', CHANGES, keep_ms)
  redis.call('SPUBLISH', CHANNEL, id)
end

-- A waiting ticket lives on: its watcher or poller is still there.
local function touch(id, player, waiting, now, idle_ms)
  redis.call('ZADD', waiting, 'XX', text(now + idle_ms), id)
  redis.call('PEXPIRE', waiting, SET_MS)
  redis.call('PEXPIRE', TICKET .. id, idle_ms * 2)
  redis.call('PEXPIRE', LIVE .. player, idle_ms * 2)
end

-- The player of the ticket may queue again.
local function release(id, player)
  if redis.call('GET', LIVE .. player) == id then
    redis.call('DEL', LIVE .. player)
  end
end

local function read(id)
  return redis.call('HMGET', TICKET .. id, 's', 'd', 't', 'b', 'r', 'e')
end
"""

CREATE: Final = Script(
    "create_ticket",
    _PRELUDE
    + """
-- Queues a player, unless there is a live ticket, or this one exists already.
-- KEYS: ticket, live ticket of the player, waiting, changes
-- ARGV: ticket id, player id, record, fingerprint of the wishes, idle ms, keep ms
-- Reply: ['made' | 'found', ticket id, fields...], ['queued', id of the other live ticket] or ['reused']
local id, player, wishes, idle_ms = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5])
local now = clock()
local known = redis.call('HMGET', KEYS[1], 's', 'f')
if known[1] then
  if known[2] ~= wishes then
    return {'reused'}
  end
  if known[1] == WAITING then
    touch(id, player, KEYS[3], now, idle_ms)
  end
  return {'found', id, unpack(read(id))}
end
local live = redis.call('GET', KEYS[2])
if live and redis.call('TYPE', TICKET .. live).ok == 'hash' then
  local other = redis.call('HMGET', TICKET .. live, 's', 'f')
  if other[1] == WAITING or other[1] == CLAIMED then
    if other[2] ~= wishes then
      return {'queued', live}
    end
    if other[1] == WAITING then
      touch(live, player, KEYS[3], now, idle_ms)
    end
    return {'found', live, unpack(read(live))}
  end
end
redis.call('HSET', KEYS[1], 's', WAITING, 'd', ARGV[3], 'p', player, 'f', wishes, 't', text(now))
redis.call('PEXPIRE', KEYS[1], idle_ms * 2)
redis.call('SET', KEYS[2], id, 'PX', idle_ms * 2)
redis.call('ZADD', KEYS[3], text(now + idle_ms), id)
redis.call('PEXPIRE', KEYS[3], SET_MS)
tell_in(id, ARGV[6])
return {'made', id, unpack(read(id))}
""",
    finds_keys=True,
)

READ: Final = Script(
    "read_ticket",
    _PRELUDE
    + """
-- Reads a ticket for its player, which keeps it alive while it waits.
-- KEYS: ticket, waiting, live ticket of the player
-- ARGV: ticket id, player id, idle ms
-- Reply: the fields, or nil when the player has no such ticket
local found = redis.call('HMGET', KEYS[1], 'p', 's')
if found[1] ~= ARGV[2] then
  return nil
end
if found[2] == WAITING then
  touch(ARGV[1], ARGV[2], KEYS[2], clock(), tonumber(ARGV[3]))
end
return read(ARGV[1])
""",
)

CANCEL: Final = Script(
    "cancel_ticket",
    _PRELUDE
    + """
-- Takes a waiting ticket out for its player. A ticket in any other state stays as it is.
-- KEYS: ticket, live ticket of the player, waiting, changes
-- ARGV: ticket id, player id, keep ms
-- Reply: [1 if it was taken out now, else 0; ms since its creation; fields...], or nil when the player has none
local id, player = ARGV[1], ARGV[2]
local found = redis.call('HMGET', KEYS[1], 'p', 's', 't')
if found[1] ~= player then
  return nil
end
local done, waited = 0, 0
if found[2] == WAITING then
  done, waited = 1, clock() - (tonumber(found[3]) or 0)
  redis.call('HSET', KEYS[1], 's', CANCELLED)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  release(id, player)
  redis.call('ZREM', KEYS[3], id)
  tell_out(id, ARGV[3])
end
return {done, waited, unpack(read(id))}
""",
)

EXPIRE: Final = Script(
    "expire_tickets",
    _PRELUDE
    + """
-- Takes out waiting tickets that nobody has asked for in time. Whatever else stands in the set is dropped.
-- KEYS: waiting, changes
-- ARGV: most tickets, keep ms
-- Reply: ms since creation of every ticket that has expired now
local now = clock()
local waits = {}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now), 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do
  local key = TICKET .. id
  local found = {}
  -- A key that is no hash must not stop the others.
  if redis.call('TYPE', key).ok == 'hash' then
    found = redis.call('HMGET', key, 's', 'p', 't')
    redis.call('EXISTS', LIVE .. (found[2] or ''))
  end
  redis.call('ZREM', KEYS[1], id)
  tell_out(id, ARGV[2])
  if found[1] == WAITING then
    redis.call('HSET', key, 's', EXPIRED)
    redis.call('PEXPIRE', key, ARGV[2])
    release(id, found[2] or '')
    waits[#waits + 1] = text(now - (tonumber(found[3]) or now))
  end
end
return waits
""",
    finds_keys=True,
)

CLAIM: Final = Script(
    "claim_table",
    _PRELUDE
    + """
-- Takes the tickets of one table out of the queue, all or none.
-- KEYS: claims, claim, waiting, changes, tickets...
-- ARGV: match id, record, owner, lease ms, claim ms, keep ms, then ticket id and player id of each ticket
-- Reply: the ids of tickets that do not wait (nothing is done then); empty when the table is claimed
local gone = {}
for i = 5, #KEYS do
  local id, player = ARGV[2 * i - 3], ARGV[2 * i - 2]
  local held = false
  redis.call('EXISTS', LIVE .. player)
  if redis.call('TYPE', KEYS[i]).ok == 'hash' then
    local found = redis.call('HMGET', KEYS[i], 's', 'p')
    held = found[1] == WAITING and found[2] == player
  end
  if not held then
    gone[#gone + 1] = id
  end
end
if #gone > 0 then
  return gone
end
for i = 5, #KEYS do
  local id, player = ARGV[2 * i - 3], ARGV[2 * i - 2]
  redis.call('HSET', KEYS[i], 's', CLAIMED, 'c', ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[5])
  redis.call('PEXPIRE', LIVE .. player, ARGV[5])
  redis.call('ZREM', KEYS[3], id)
  tell_out(id, ARGV[6])
end
redis.call('HSET', KEYS[2], 'd', ARGV[2], 'o', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('ZADD', KEYS[1], text(clock() + ARGV[4]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], SET_MS)
return gone
""",
    finds_keys=True,
)

ASSIGN: Final = Script(
    "assign_table",
    _PRELUDE
    + """
-- Gives every ticket of a claim its room and seat, and ends the claim.
-- KEYS: claims, claim, waits of the pool, tickets...
-- ARGV: match id, room id, keep ms, waits ms, most waits, then ticket id, player id and seat of each ticket
-- Reply: ms since creation of every ticket, or nil when the claim has been ended before
if redis.call('EXISTS', KEYS[2]) == 0 then
  return nil
end
for i = 4, #KEYS do
  redis.call('EXISTS', LIVE .. ARGV[7 + 3 * (i - 4)])
end
local now = clock()
local waits = {}
for i = 4, #KEYS do
  local at = 6 + 3 * (i - 4)
  local id, player, seat = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local found = redis.call('HMGET', KEYS[i], 's', 'c', 't')
  if found[1] == CLAIMED and found[2] == ARGV[1] then
    redis.call('HSET', KEYS[i], 's', MATCHED, 'r', ARGV[2], 'e', seat)
    redis.call('HDEL', KEYS[i], 'c')
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
    release(id, player)
    redis.call('SPUBLISH', CHANNEL, id)
    local waited = text(now - (tonumber(found[3]) or now))
    waits[#waits + 1] = waited
    redis.call('LPUSH', KEYS[3], waited)
  end
end
redis.call('LTRIM', KEYS[3], 0, ARGV[5] - 1)
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
return waits
""",
    finds_keys=True,
)

RETURN: Final = Script(
    "return_table",
    _PRELUDE
    + """
-- Puts the tickets of a claim whose room cannot be created back into the queue, with their original time;
-- they rest for a while that doubles every time. Only the owner may, who knows that there is no room.
-- KEYS: claims, claim, waiting, changes, tickets...
-- ARGV: match id, owner, idle ms, keep ms, first rest ms, longest rest ms, then ticket id and player id of each
-- Reply: how many tickets wait again; -1 when the claim has another owner or has been ended
if redis.call('HGET', KEYS[2], 'o') ~= ARGV[2] then
  return -1
end
for i = 5, #KEYS do
  redis.call('EXISTS', LIVE .. ARGV[2 * i - 2])
end
local now, idle_ms = clock(), tonumber(ARGV[3])
local back = 0
for i = 5, #KEYS do
  local id, player = ARGV[2 * i - 3], ARGV[2 * i - 2]
  local found = redis.call('HMGET', KEYS[i], 's', 'c')
  if found[1] == CLAIMED and found[2] == ARGV[1] then
    local failures = redis.call('HINCRBY', KEYS[i], 'n', 1)
    local rest = math.min(ARGV[5] * 2 ^ math.min(failures - 1, 30), tonumber(ARGV[6]))
    redis.call('HSET', KEYS[i], 's', WAITING, 'b', text(now + rest))
    redis.call('HDEL', KEYS[i], 'c')
    -- The rest does not count as idle time: no ticket expires before it could sit down again.
    redis.call('ZADD', KEYS[3], text(now + idle_ms + rest), id)
    redis.call('PEXPIRE', KEYS[3], SET_MS)
    redis.call('PEXPIRE', KEYS[i], text(2 * idle_ms + rest))
    redis.call('PEXPIRE', LIVE .. player, text(2 * idle_ms + rest))
    tell_in(id, ARGV[4])
    back = back + 1
  end
end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
return back
""",
    finds_keys=True,
)

TAKE: Final = Script(
    "take_claims",
    f"local CLAIM = '{keys.claim_key('')}'\n"
    """
-- Takes over claims whose lease has run out.
-- KEYS: claims
-- ARGV: new owner, lease ms, most claims
-- Reply: the records
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local records = {}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[3])
for _, id in ipairs(due) do
  local record = redis.call('HGET', CLAIM .. id, 'd')
  if record then
    redis.call('HSET', CLAIM .. id, 'o', ARGV[1])
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), id)
    records[#records + 1] = record
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return records
""",
    finds_keys=True,
)

RENEW: Final = Script(
    "renew_claim",
    """
-- Gives the owner of a claim a new lease; with 0 ms it lets go of the claim.
-- KEYS: claims, claim
-- ARGV: match id, owner, lease ms
-- Reply: 1, or 0 when the claim has another owner or has been ended
if redis.call('HGET', KEYS[2], 'o') ~= ARGV[2] then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
return 1
""",
)

FOLLOW: Final = Script(
    "follow_queue",
    """
-- Reads what has changed in the queue.
-- KEYS: changes
-- ARGV: last id seen, most entries
-- Reply: [how many changes there have ever been, entries...]; [-1] when there is no stream
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {-1}
end
local info = redis.call('XINFO', 'STREAM', KEYS[1])
local added = 0
for i = 1, #info, 2 do
  if info[i] == 'entries-added' then
    added = info[i + 1]
  end
end
return {added, unpack(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2]))}
""",
)

SURVEY: Final = Script(
    "survey_queue",
    """
-- Reads which tickets wait, and where the stream of changes stands at that moment.
-- KEYS: changes, waiting
-- Reply: [how many changes there have ever been (0 without a stream), id of the last, ids of all waiting tickets]
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

__all__ = [
    "ASSIGN",
    "CANCEL",
    "CLAIM",
    "CREATE",
    "EXPIRE",
    "FOLLOW",
    "READ",
    "RENEW",
    "RETURN",
    "SURVEY",
    "TAKE",
]
