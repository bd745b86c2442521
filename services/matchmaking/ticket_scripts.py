"""The Lua scripts through which players change their tickets. Each is one atomic step of a ticket's life:

    (none) -CREATE-> WAITING -CLAIM-> CLAIMED -ASSIGN-> MATCHED
       |          ^   |  |  ^------RETURN-----'
       |      CONFIRM |  '-EXPIRE-> EXPIRED
       '-CREATE-> FORMING -EXPIRE------'          CANCEL from WAITING and FORMING -> CANCELLED

CLAIM, ASSIGN and RETURN are those of `matchmaking.claim_scripts`.

A ticket's hash has the fields s state (a TicketState number), d record, p the player ids of its members (the
leader first, a space between), f fingerprint of the wishes, t creation in ms, b rest until ms, n rooms that
could not be created, c match id while claimed, r room id, e the members' seats (a space between), x
attributes, y who withdrew it. That of a party also has z the end of the time to confirm in ms, m<i> the record
of member i (the leader is 0 and has none) once it has confirmed, a<i> until when member i counts as being
there. Waiting and forming tickets stand in the waiting set, by the time when they expire; whatever comes into
or leaves the queue is told in the changes stream, in the same step, so that an index that follows the stream
misses nothing. The store's clock is the only one.

Keys that a script finds out by itself (those of tickets in a set, of their players) lie in the same slot as the
ones it is given. It looks at them before it writes: on a cluster whose slot is on its way, one that is not
there ends the script, which must not be half done then.
"""

from __future__ import annotations

from typing import Final

from matchmaking.ticket_lua import PRELUDE
from rami_kit.redis_store import Script

CREATE: Final = Script(
    "create_ticket",
    PRELUDE
    + """
-- Queues a player, or begins to form a party, unless there is a live ticket, or this one exists already.
-- KEYS: ticket, live ticket of the player, waiting, changes, the player
-- ARGV: ticket id, player id, record, fingerprint of the wishes, idle ms, keep ms, players, attributes, confirm ms,
--       the player's record that the skill was taken from (empty for none)
-- Reply: ['made', now], ['found', ticket id, fields...], ['queued', id of the other live ticket], ['reused'], or
--       ['rated', record] when the player's record is not the expected one, and nothing is done
local id, player, wishes, idle_ms = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5])
local ids, confirm_ms = split(ARGV[7]), tonumber(ARGV[9])
local now = clock()
local known = redis.call('HMGET', KEYS[1], 's', 'f')
if known[1] then
  if known[2] ~= wishes then
    return {'reused'}
  end
  if known[1] == WAITING then
    touch(id, player, ids, KEYS[3], now, idle_ms)
  end
  return {'found', id, unpack(read(id))}
end
local live, state, other = live_ticket(player)
if live then
  if other ~= wishes then
    return {'queued', live}
  end
  if state == WAITING then
    touch(live, player, ids, KEYS[3], now, idle_ms)
  end
  return {'found', live, unpack(read(live))}
end
local rated = redis.call('GET', KEYS[5]) or ''
if rated ~= ARGV[10] then
  return {'rated', rated}
end
local ticket = {'d', ARGV[3], 'p', ARGV[7], 'f', wishes, 't', text(now), 's', WAITING}
if ARGV[8] ~= '' then
  ticket[11], ticket[12] = 'x', ARGV[8]
end
if #ids == 1 then
  redis.call('HSET', KEYS[1], unpack(ticket))
  enter(id, ids, KEYS[3], now, idle_ms)
  tell_in({'i', id, 'd', ARGV[3], 't', text(now), 'b', '0'}, ARGV[6])
else
  ticket[10] = FORMING
  redis.call('HSET', KEYS[1], 'z', text(now + confirm_ms), unpack(ticket))
  redis.call('PEXPIRE', KEYS[1], lifetime(confirm_ms))
  redis.call('SET', KEYS[2], id, 'PX', lifetime(confirm_ms))
  redis.call('ZADD', KEYS[3], text(now + confirm_ms), id)
  redis.call('PEXPIRE', KEYS[3], SET_MS)
end
return {'made', text(now)}
""",
    finds_keys=True,
)

CONFIRM: Final = Script(
    "confirm_ticket",
    PRELUDE
    + """
-- A member confirms to be of the party of a ticket; with the last one the ticket waits.
-- KEYS: ticket, live ticket of the player, waiting, changes
-- ARGV: ticket id, player id, record of the member, idle ms, keep ms
-- Reply: ['found', ticket id, fields...], ['queued', id of the other live ticket], or nil when the player was not named
local id, player, idle_ms = ARGV[1], ARGV[2], tonumber(ARGV[4])
local found = redis.call('HMGET', KEYS[1], 's', 'p', 'z')
local ids = split(found[2])
local place = place_of(player, ids)
if not place then
  return nil
end
if found[1] == FORMING and place > 1 and redis.call('HEXISTS', KEYS[1], 'm' .. place - 1) == 0 then
  local live = live_ticket(player)
  if live then
    return {'queued', live}
  end
  keys_of_live(id, ids)
  local now = clock()
  redis.call('HSET', KEYS[1], 'm' .. place - 1, ARGV[3])
  local missing = false
  for i = 2, #ids do
    missing = missing or redis.call('HEXISTS', KEYS[1], 'm' .. i - 1) == 0
  end
  if missing then
    redis.call('SET', KEYS[2], id, 'PX', lifetime(math.max(0, tonumber(found[3]) - now)))
  else
    redis.call('HSET', KEYS[1], 's', WAITING, 't', text(now))
    redis.call('HDEL', KEYS[1], 'z')
    enter(id, ids, KEYS[3], now, idle_ms)
    tell_in(entry_of(id), ARGV[5])
  end
  wake_watchers(id)
end
return {'found', id, unpack(read(id))}
""",
    finds_keys=True,
)

READ: Final = Script(
    "read_ticket",
    PRELUDE
    + """
-- Reads a ticket for its player, which keeps it alive while it waits. The expiry of one that is over is written once
-- more: who waits for this write to be durable waits for the end of the ticket to be.
-- KEYS: ticket, waiting, live ticket of the player
-- ARGV: ticket id, player id, idle ms
-- Reply: the fields, or nil when the player has no such ticket
local found = read(ARGV[1])
local state, ids = found[1], split(found[7])
if not place_of(ARGV[2], ids) then
  return nil
end
if state == WAITING then
  touch(ARGV[1], ARGV[2], ids, KEYS[2], clock(), tonumber(ARGV[3]))
elseif state == MATCHED or state == CANCELLED or state == EXPIRED then
  redis.call('PEXPIRE', KEYS[1], math.max(1, redis.call('PTTL', KEYS[1])))
end
return found
""",
)

CANCEL: Final = Script(
    "cancel_ticket",
    PRELUDE
    + """
-- Takes a waiting or forming ticket out for one of its players. A ticket in any other state stays as it is.
-- KEYS: ticket, live ticket of the player, waiting, changes
-- ARGV: ticket id, player id, keep ms
-- Reply: [1 if it was taken out now, else 0; ms since its creation; fields...], or nil when the player has none
local id, player = ARGV[1], ARGV[2]
local found = redis.call('HMGET', KEYS[1], 'p', 's', 't')
local ids = split(found[1])
if not place_of(player, ids) then
  return nil
end
local done, waited = 0, 0
if found[2] == WAITING or found[2] == FORMING then
  local held = keys_of_live(id, ids)
  done, waited = 1, clock() - (tonumber(found[3]) or 0)
  redis.call('HSET', KEYS[1], 's', CANCELLED, 'y', player)
  if found[2] == FORMING then
    redis.call('HDEL', KEYS[1], 'z')
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  release(held)
  redis.call('ZREM', KEYS[3], id)
  tell_out(id, ARGV[3])
  wake_watchers(id)
elseif found[2] == CANCELLED then
  -- Its expiry is written once more: who repeats the call waits for a write, and so for the first one, to be durable.
  redis.call('PEXPIRE', KEYS[1], math.max(1, redis.call('PTTL', KEYS[1])))
end
return {done, waited, unpack(read(id))}
""",
    finds_keys=True,
)

EXPIRE: Final = Script(
    "expire_tickets",
    PRELUDE
    + """
-- Takes out waiting tickets that a player has not asked for in time, and parties that are not complete in time.
-- Whatever else stands in the set is dropped. While somebody looks after the set so, it stays.
-- KEYS: waiting, changes
-- ARGV: most tickets, keep ms, ms that waiting tickets get once more in place of their end (0 for none)
-- Reply: ms since creation of every ticket that has expired now
local now, grace_ms = clock(), tonumber(ARGV[3])
local waits = {}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now), 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do
  local key = TICKET .. id
  local found, ids, held = {}, {}, {}
  -- A key that is no hash must not stop the others.
  if redis.call('TYPE', key).ok == 'hash' then
    found = redis.call('HMGET', key, 's', 'p', 't')
    ids = split(found[2])
    held = keys_of_live(id, ids)
  end
  if found[1] == WAITING and grace_ms > 0 then
    spare(id, ids, held, KEYS[1], now, grace_ms)
  else
    redis.call('ZREM', KEYS[1], id)
    tell_out(id, ARGV[2])
    wake_watchers(id)
    if found[1] == WAITING or found[1] == FORMING then
      redis.call('HSET', key, 's', EXPIRED)
      redis.call('HDEL', key, 'z')
      redis.call('PEXPIRE', key, ARGV[2])
      release(held)
      waits[#waits + 1] = text(now - (tonumber(found[3]) or now))
    end
  end
end
redis.call('PEXPIRE', KEYS[1], SET_MS)
return waits
""",
    finds_keys=True,
)

__all__ = ["CANCEL", "CONFIRM", "CREATE", "EXPIRE", "READ"]
