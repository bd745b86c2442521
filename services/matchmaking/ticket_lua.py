"""What the scripts of a ticket's life share: its states, how it comes into and leaves the queue, who lives on it.

Lua that stands before each of them; see `matchmaking.ticket_scripts` for the fields of a ticket.
"""

from __future__ import annotations

from typing import Final

from rami_kit import keys

_NAMES: Final = f"""
local WAITING, CLAIMED, MATCHED, CANCELLED, EXPIRED, FORMING = '1', '2', '3', '4', '5', '6'
local CHANGES, CHANNEL = '{keys.queue_changes_key()}', '{keys.ticket_channel()}'
local TICKET, LIVE = '{keys.ticket_key("")}', '{keys.live_ticket_key("")}'
"""

PRELUDE: Final = (
    _NAMES
    + """
local MOST_CHANGES = 20000
-- Sets are gone when they are empty; this is for the case that nobody is left to empty them.
local SET_MS = 86400000
-- However late the pass that takes a ticket out, it finds the ticket: only what it finds is counted and told of.
local LATE_MS = 60000

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function text(number)
  return string.format('%.0f', number)
end

-- How long what is due in so many ms stays in the store.
local function lifetime(due_ms)
  return text(2 * due_ms + LATE_MS)
end

-- The players of a ticket, in order.
local function split(players)
  local ids = {}
  for id in string.gmatch(players or '', '%S+') do
    ids[#ids + 1] = id
  end
  return ids
end

-- Which of the players one is, from 1; nil for none.
local function place_of(player, ids)
  for i, id in ipairs(ids) do
    if id == player then
      return i
    end
  end
  return nil
end

-- The id of a player's live ticket; a key that holds no id counts as none, and must not stop the others.
local function live_of(player)
  local live = redis.pcall('GET', LIVE .. player)
  if type(live) == 'table' then
    if not string.find(live.err, 'WRONGTYPE', 1, true) then
      redis.call('GET', LIVE .. player)
    end
    return nil
  end
  return live
end

-- The keys of the players' live tickets, where it is this one. A script that has not been given them must look at them
-- before it writes.
local function keys_of_live(id, ids)
  local held = {}
  for _, player in ipairs(ids) do
    if live_of(player) == id then
      held[#held + 1] = LIVE .. player
    end
  end
  return held
end

-- The ticket came into the queue: everything an index needs to know of it.
local function tell_in(entry, keep_ms)
  redis.call('XADD', CHANGES, 'MAXLEN', '~', MOST_CHANGES, '*', unpack(entry))
  redis.call('PEXPIRE', CHANGES, keep_ms)
end

-- What is told of a ticket that has been there before.
local function entry_of(id)
  local fields = redis.call('HMGET', TICKET .. id, 'd', 't', 'b', 'm1', 'm2', 'm3')
  local entry = {'i', id, 'd', fields[1] or '', 't', fields[2] or '', 'b', fields[3] or '0'}
  for i = 1, 3 do
    if fields[3 + i] then
      entry[#entry + 1] = 'm' .. i
      entry[#entry + 1] = fields[3 + i]
    end
  end
  return entry
end

-- The ticket left the queue.
local function tell_out(id, keep_ms)
  redis.call('XADD', CHANGES, 'MAXLEN', '~', MOST_CHANGES, '*', 'i', id)
  redis.call('PEXPIRE', CHANGES, keep_ms)
end

-- Who watches the ticket has to look at it.
local function wake_watchers(id)
  redis.call('SPUBLISH', CHANNEL, id)
end

-- A waiting ticket lives on: its watcher or poller is still there. A party lives as long as each of its members.
local function touch(id, player, ids, waiting, now, idle_ms)
  local ends = now + idle_ms
  if #ids > 1 then
    local place = place_of(player, ids)
    redis.call('HSET', TICKET .. id, 'a' .. place - 1, text(ends))
    for i = 1, #ids do
      ends = math.min(ends, tonumber(redis.call('HGET', TICKET .. id, 'a' .. i - 1)) or ends)
    end
  end
  redis.call('ZADD', waiting, 'XX', text(ends), id)
  redis.call('PEXPIRE', TICKET .. id, lifetime(idle_ms))
  redis.call('PEXPIRE', LIVE .. player, lifetime(idle_ms))
end

-- The ticket waits from now on, and so do all of its players.
local function enter(id, ids, waiting, now, due_ms)
  local ends, live_ms = now + due_ms, lifetime(due_ms)
  for i, player in ipairs(ids) do
    if #ids > 1 then
      redis.call('HSET', TICKET .. id, 'a' .. i - 1, text(ends))
    end
    redis.call('SET', LIVE .. player, id, 'PX', live_ms)
  end
  redis.call('PEXPIRE', TICKET .. id, live_ms)
  redis.call('ZADD', waiting, text(ends), id)
  redis.call('PEXPIRE', waiting, SET_MS)
end

-- A waiting ticket that is due lives on for a while, whoever of its players is there.
local function spare(id, ids, held, waiting, now, grace_ms)
  local ends, live_ms = now + grace_ms, lifetime(grace_ms)
  for i = 1, #ids do
    if #ids > 1 and (tonumber(redis.call('HGET', TICKET .. id, 'a' .. i - 1)) or 0) < ends then
      redis.call('HSET', TICKET .. id, 'a' .. i - 1, text(ends))
    end
  end
  for _, key in ipairs(held) do
    redis.call('PEXPIRE', key, live_ms, 'GT')
  end
  redis.call('PEXPIRE', TICKET .. id, live_ms, 'GT')
  redis.call('ZADD', waiting, text(ends), id)
end

-- The players whose live ticket it was may queue again.
local function release(held)
  if #held > 0 then
    redis.call('DEL', unpack(held))
  end
end

-- The live ticket of a player: its id, state and fingerprint; nil for none.
local function live_ticket(player)
  local live = live_of(player)
  if live and redis.call('TYPE', TICKET .. live).ok == 'hash' then
    local found = redis.call('HMGET', TICKET .. live, 's', 'f')
    if found[1] == WAITING or found[1] == CLAIMED or found[1] == FORMING then
      return live, found[1], found[2]
    end
  end
  return nil
end

-- All that is told of a ticket: its state first, its players 7th.
local function read(id)
  return redis.call('HMGET', TICKET .. id, 's', 'd', 't', 'b', 'r', 'e', 'p', 'x', 'y', 'z', 'm1', 'm2', 'm3')
end
"""
)

__all__ = ["PRELUDE"]
