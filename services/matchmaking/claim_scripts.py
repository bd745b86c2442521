"""The Lua scripts through which a table is claimed, held, and ended: with a room, or with its tickets queued again.

A claim's hash has the fields d record and o owner; claims stand in the claims set by the time when their leases end.
Each script takes all tickets of a table one step further or none; see `matchmaking.ticket_scripts` for the states
and fields of a ticket, and for what a script that finds keys by itself has to keep to.
"""

from __future__ import annotations

from typing import Final

from matchmaking.ticket_lua import PRELUDE
from rami_kit import keys
from rami_kit.redis_store import Script

CLAIM: Final = Script(
    "claim_table",
    PRELUDE
    + """
-- Takes the tickets of one table out of the queue, all or none. Their watchers are not woken: mostly they have a room
-- before they could be told that one is being made.
-- KEYS: claims, claim, waiting, changes, tickets...
-- ARGV: match id, record, owner, lease ms, claim ms, keep ms, then ticket id and players of each ticket
-- Reply: the ids of tickets that do not wait (nothing is done then); empty when the table is claimed
local gone = {}
for i = 5, #KEYS do
  local id, players = ARGV[2 * i - 3], ARGV[2 * i - 2]
  local held = false
  keys_of_live(id, split(players))
  if redis.call('TYPE', KEYS[i]).ok == 'hash' then
    local found = redis.call('HMGET', KEYS[i], 's', 'p')
    held = found[1] == WAITING and found[2] == players
  end
  if not held then
    gone[#gone + 1] = id
  end
end
if #gone > 0 then
  return gone
end
for i = 5, #KEYS do
  local id = ARGV[2 * i - 3]
  redis.call('HSET', KEYS[i], 's', CLAIMED, 'c', ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[5])
  for _, player in ipairs(split(ARGV[2 * i - 2])) do
    redis.call('PEXPIRE', LIVE .. player, ARGV[5])
  end
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
    PRELUDE
    + """
-- Gives every ticket of a claim its room and seats, and ends the claim.
-- KEYS: claims, claim, waits of the pool, tickets...
-- ARGV: match id, room id, keep ms, waits ms, most waits, then ticket id, players and their seats of each ticket
-- Reply: ms since creation of every ticket, or nil when the claim has been ended before
if redis.call('EXISTS', KEYS[2]) == 0 then
  return nil
end
local held = {}
for i = 4, #KEYS do
  local at = 6 + 3 * (i - 4)
  held[i] = keys_of_live(ARGV[at], split(ARGV[at + 1]))
end
local now = clock()
local waits, all_waits = {}, {}
for i = 4, #KEYS do
  local at = 6 + 3 * (i - 4)
  local id, ids, seats = ARGV[at], split(ARGV[at + 1]), ARGV[at + 2]
  local found = redis.call('HMGET', KEYS[i], 's', 'c', 't')
  if found[1] == CLAIMED and found[2] == ARGV[1] then
    redis.call('HSET', KEYS[i], 's', MATCHED, 'r', ARGV[2], 'e', seats)
    redis.call('HDEL', KEYS[i], 'c')
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
    release(held[i])
    wake_watchers(id)
    local waited = text(now - (tonumber(found[3]) or now))
    waits[#waits + 1] = waited
    for _ = 1, #ids do
      all_waits[#all_waits + 1] = waited
    end
  end
end
if #all_waits > 0 then
  redis.call('LPUSH', KEYS[3], unpack(all_waits))
  redis.call('LTRIM', KEYS[3], 0, ARGV[5] - 1)
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
return waits
""",
    finds_keys=True,
)

RETURN: Final = Script(
    "return_table",
    PRELUDE
    + """
-- Puts the tickets of a claim whose room cannot be created back into the queue, with their original time;
-- they rest for a while that doubles every time. Only the owner may, who knows that there is no room.
-- KEYS: claims, claim, waiting, changes, tickets...
-- ARGV: match id, owner, idle ms, keep ms, first rest ms, longest rest ms, then ticket id and players of each
-- Reply: how many tickets wait again; -1 when the claim has another owner or has been ended
if redis.call('HGET', KEYS[2], 'o') ~= ARGV[2] then
  return -1
end
for i = 5, #KEYS do
  keys_of_live(ARGV[2 * i - 3], split(ARGV[2 * i - 2]))
end
local now, idle_ms = clock(), tonumber(ARGV[3])
local back = 0
for i = 5, #KEYS do
  local id, ids = ARGV[2 * i - 3], split(ARGV[2 * i - 2])
  local found = redis.call('HMGET', KEYS[i], 's', 'c')
  if found[1] == CLAIMED and found[2] == ARGV[1] then
    local failures = redis.call('HINCRBY', KEYS[i], 'n', 1)
    local rest = math.min(ARGV[5] * 2 ^ math.min(failures - 1, 30), tonumber(ARGV[6]))
    redis.call('HSET', KEYS[i], 's', WAITING, 'b', text(now + rest))
    redis.call('HDEL', KEYS[i], 'c')
    -- The rest does not count as idle time: no ticket expires before it could sit down again.
    enter(id, ids, KEYS[3], now, idle_ms + rest)
    tell_in(entry_of(id), ARGV[4])
    wake_watchers(id)
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

__all__ = ["ASSIGN", "CLAIM", "RENEW", "RETURN", "TAKE"]
