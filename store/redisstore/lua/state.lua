-- What an empty answer of a take says: how many queues hold something, what keeps them, and when that changes. A daemon adds up what the
-- shards tell. Only it knows whether a crawl has reached its limit, so of a crawl with one it gets the times for both cases.
--
-- state: queues 6 | paused 6 | limited 6 | blocked 6 | a lease runs 1 | what holds back the first to open 1 (as hold in file.lua), of
-- crawls without a limit; for each crawl with one: length 1 | crawl | limit 8 | fetched 6 | leases that run 6 | that ran out 6 | some ran out 1 |
-- paused or blocked as a whole 1 (1 or 3) | queues 6 | paused 6 | limited 6 | blocked 6 | a lease runs 1 | next, with room 6 | by 1 |
-- next, of leases that ran out 6 | by 1 | end of the first lease 6; 0 for no time
local SUM, LIMITED_CRAWL = '>I6I6I6I6BB', '>I8I6I6I6BBI6I6I6I6BI6BI6BI6'

local function tell_time(t) return t == NEVER and 0 or t end

-- behind moves a time, and what holds it back, behind the blocks of a crawl and of the store.
local function behind(t, by, set)
  for _, s in ipairs({ set or {}, store_settings() or {} }) do
    if s.paused == 1 then t = NEVER end
    if t < NEVER and s.blocked and s.blocked > t then t, by = s.blocked, BLOCKED end
  end
  return t, by
end

-- closed_by returns what stops a whole crawl, or the store.
local function closed_by(set)
  local all, by = store_settings() or {}, FREE
  set = set or {}
  if (set.blocked or 0) > now or (all.blocked or 0) > now then by = BLOCKED end
  if set.paused == 1 or all.paused == 1 then by = PAUSED end
  return by
end

local function open_state() return { queues = 0, paused = 0, limited = 0, blocked = 0, runs = 0, next = NEVER, by = FREE, crawls = {} } end

-- add_state adds a crawl: late, the counts of queues and runs are of those that the request may take from; next is a function of the room, and
-- returns a time and what holds it back; first is the end of the first lease.
local function add_state(sum, c, limit, late, queues, paused, limited, blocked, runs, next, first)
  local closed = closed_by(c.set)
  if limit > 0 then
    local open, by = next(NEVER)
    local again, by_again = NEVER, FREE
    if late then again, by_again = next(0) end
    open, by = behind(open, by, c.set)
    again, by_again = behind(again, by_again, c.set)
    sum.crawls[#sum.crawls + 1] = short(c.name) .. pack(LIMITED_CRAWL, limit, c.fetched, c.leased - c.late, c.late, late and 1 or 0, closed, queues, paused, limited, blocked,
      runs and 1 or 0, tell_time(open), by, tell_time(again), by_again, tell_time((behind(first, FREE, c.set))))
    return
  end
  if closed == PAUSED then
    paused, limited, blocked = queues, 0, 0
  elseif closed == BLOCKED then
    blocked = queues - paused - limited
  end
  sum.queues, sum.paused, sum.limited, sum.blocked = sum.queues + queues, sum.paused + paused, sum.limited + limited, sum.blocked + blocked
  if runs then sum.runs = 1 end
  local t, by = next(NEVER)
  t, by = behind(min(t, first), by, c.set)
  if t < sum.next then sum.next, sum.by = t, by end
end

-- add_crawl adds a crawl of which the request may take from any queue.
local function add_crawl(sum, c, limit, next, first)
  add_state(sum, c, limit, c.late > 0, c.active, c.paused, c.limited, c.blocked, c.leased - c.late + c.over > 0, next, first)
end

local function tell_state(sum) return pack(SUM, sum.queues, sum.paused, sum.limited, sum.blocked, sum.runs, sum.by) .. concat(sum.crawls) end

-- What holds back a queue, and its place, by its row.
local function hold_of(row) return row and #row >= 60 and floor(byte(row, 59) / 16) % 4 or 0 end

-- first_waiting returns when the first queue that waits may be served, and what holds it back; without room, of those with leases that
-- ran out.
local function first_waiting(c, left)
  local W, Q, first, of = base .. 'W' .. c.id, base .. 'Q' .. c.id, NEVER, false
  if left > 0 then
    local head = call('ZRANGE', W, '0', '0', 'WITHSCORES')
    if head[1] then first, of = tonumber(head[2]), head[1] end
  elseif left == 0 then
    for _, name in ipairs(call('SRANDMEMBER', base .. 'X' .. c.id, '256')) do
      local t = tonumber(call('ZSCORE', W, group.front_for(c.id, name, call('HGET', Q, name))) or NEVER)
      if t < first then first, of = t, name end
    end
  end
  return first, hold_of(of and call('HGET', Q, of))
end
