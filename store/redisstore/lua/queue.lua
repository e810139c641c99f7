-- Queues of a crawl while a script works on them. What is loaded is kept until the
-- end and written once; see file.lua.
--
-- A queue's row, the shorter one of a queue that holds nothing and has no settings, as most have after a while, and what may
-- follow: queue_row and parse_queue name the fields. The length of a row decides which fields it has.
--
-- The incarnation goes up when the queue is deleted. Records and sets of an earlier one are dead.
local ROW, ROW_LEN = '>I6I4I4I6I6I6I6I7I6BI6BB', 60
local IDLE, IDLE_LEN = '>I5I6I6I6I7B', 31
local NEW_QUEUE = string.rep('\0', IDLE_LEN)
local INCARNATIONS = 64
local URGENT = 7 -- the priority of URLs that go before the turns of other queues
-- What may follow; of format 8, or as long as all pages that were fetched are those completed, only the first two fields.
local MORE, MORE_LEN, LONG_MORE, LONG_MORE_LEN = '>I6I6', 12, '>I6I6I6I6I4', 28

-- begin loads what a step on queues needs of a crawl.
local function begin(c)
  local v = call('HMGET', c.key, 'counts', 'settings', 'dropped', 'clock', 'refile', 'follow', 'trail', 'urgent')
  read_counts(c, v[1])
  c.set, c.dropped, c.clock = read_crawl_settings(v[2]), tonumber(v[3]) or 0, tonumber(v[4]) or 0
  c.had, c.ran = c.held, c.leased - c.late + c.over
  -- Cursors, while changed settings or a changed clock have yet to reach all queues, all leases and all overtaken ones.
  c.refile, c.follow, c.trail, c.urgent = v[5], v[6], v[7], v[8]
  open_rows(c)
  group.open(c)
  c.queues, c.order, c.records, c.leases, c.overs, c.ended = {}, {}, {}, {}, {}, {}
  for _, t in ipairs({ 'Q', 'L', 'E', 'W', 'O', 'X', 'U' }) do c[t] = base .. t .. c.id end
  c.ready = ready_keys(c.id)
  return c
end

-- setting returns a setting of the nearest level that has it.
local function setting(c, q, name)
  local all = store_settings()
  if not (q.set or c.set or all) then return 0 end
  if q.set and q.set[name] ~= 0 then return q.set[name] end
  if name == 'limit' then name = 'queue_limit' end
  if c.set and c.set[name] ~= 0 then return c.set[name] end
  return all and all[name] or 0
end

-- parse_queue makes the table at once: a table that grows field by field is copied four times.
local function parse_queue(name, row)
  local queued, live, late, done, last, delay, before, turn, first, levels, wake, place, inc
  local size, dropped, before_at, fetched, failed, over = #row, 0, 0, nil, 0, 0
  if size == IDLE_LEN + MORE_LEN or size % 32 == (ROW_LEN + MORE_LEN) % 32 then
    size = size - MORE_LEN
    dropped, before_at = unpack_struct(MORE, row, size + 1)
  elseif size == IDLE_LEN + LONG_MORE_LEN or size % 32 == (ROW_LEN + LONG_MORE_LEN) % 32 then
    size = size - LONG_MORE_LEN
    dropped, before_at, fetched, failed, over = unpack_struct(LONG_MORE, row, size + 1)
  end
  if size == IDLE_LEN then
    queued, live, late, first, levels, wake, place = 0, 0, 0, NEVER, 0, 0, 0
    done, last, delay, before, turn, inc = unpack_struct(IDLE, row)
  else
    queued, live, late, done, last, delay, before, turn, first, levels, wake, place, inc = unpack_struct(ROW, row)
  end
  return {
    name = name, queued = queued, live = live, late = late, done = done, last = last, delay = delay, before = before,
    turn = turn, first = first, levels = levels, wake = wake, place = place % 16, dirty = false, inc = inc,
    hold = floor(place / 16) % 4, listed = floor(place / 64) % 2 == 1, urgent = place >= 128, dropped = dropped, before_at = before_at, fetched = fetched or done,
    failed = failed, over = over, set = size > ROW_LEN and read_settings(sub(row, ROW_LEN + 1)) or nil,
  }
end

local function queue_row(q)
  local more = ''
  if q.fetched ~= q.done or q.failed + q.over > 0 then
    more = pack(LONG_MORE, q.dropped, q.before_at, q.fetched, q.failed, q.over)
  elseif q.dropped + q.before_at > 0 then
    more = pack(MORE, q.dropped, q.before_at)
  end
  if q.place == 0 and q.queued + q.live + q.late + q.levels == 0 and q.first == NEVER and not q.set and q.done < 2 ^ 40 then
    return pack(IDLE, q.done, q.last, q.delay, q.before, q.turn, q.inc) .. more
  end
  local row = pack(ROW, q.queued, q.live, q.late, q.done, q.last, q.delay, q.before, q.turn, q.first, q.levels, q.wake, q.place + 16 * q.hold + (q.listed and 64 or 0) + (q.urgent and 128 or 0), q.inc)
  if q.set then row = row .. write_settings(q.set) end
  return row .. more
end

local function keep_queue(c, q)
  c.queues[q.name] = q
  c.order[#c.order + 1] = q
  return q
end

-- read_queues reads the rows of queues that are not loaded, in one go, and returns them by name, false for none. A name may be
-- there many times.
local function read_queues(c, names)
  local missing, rows = {}, {}
  for i = 1, #names do
    local name = names[i]
    if rows[name] == nil and c.queues[name] == nil then missing[#missing + 1], rows[name] = name, false end
  end
  local got = fetch(c.Q, missing)
  for i = 1, #missing do
    rows[missing[i]], c.queues[missing[i]] = got[i], got[i] and nil -- false, if there is none
  end
  return rows
end

-- find_queue returns a queue, whose row may have been read.
local function find_queue(c, name, row)
  if c.queues[name] == nil then
    row = row or call('HGET', c.Q, name)
    c.queues[name] = row and keep_queue(c, parse_queue(name, row))
  end
  return c.queues[name] or nil
end

local function load_queues(c, names)
  for name, row in pairs(read_queues(c, names)) do find_queue(c, name, row) end
end

local function need_queue(c, name, row)
  local q = find_queue(c, name, row)
  if q then return q end
  q = keep_queue(c, parse_queue(name, NEW_QUEUE))
  q.dirty = true
  return q
end

-- Keys that belong to one queue: its URLs by priority, its leases that ran out, its
-- URLs completed or dropped whose text is kept.
local function queue_key(c, kind, q) return base .. kind .. c.id .. char(q.inc) .. q.name end
local function levels_of(c, priority) return base .. 'z' .. text(priority) .. c.id end
local function level_key(c, q, priority) return levels_of(c, priority) .. char(q.inc) .. q.name end

local function held(q) return q.queued + q.live + q.late end

-- running is the number of fetchers at a queue.
local function running(q) return q.live + q.over end

-- fetchers is the number of those that count for the bound on leases: at the queue, or at its group.
local function fetchers(c, q)
  local g = group.of(c, q)
  return g and g.running or running(q)
end

-- used is above 0 if the queue holds or has counted anything.
local function used(q) return held(q) + q.done + q.dropped + q.fetched + q.failed end

-- count changes the counts of a queue and its crawl. None goes below 0.
local function count(c, q, queued, live, late, done, dropped)
  done, dropped = max(done, -q.done), max(dropped or 0, -q.dropped)
  local held_before, ended_before, change = held(q), q.done + q.dropped + q.fetched + q.failed, queued + live + late
  local held_now, ended_now = held_before + change, ended_before + done + dropped
  q.queued, q.live, q.late, q.done, q.dropped = q.queued + queued, q.live + live, q.late + late, q.done + done, q.dropped + dropped
  c.held, c.leased, c.late, c.done = c.held + change, c.leased + live + late, c.late + late, c.done + done
  group.count(c, q, live)
  if dropped ~= 0 then
    c.dropped = c.dropped + dropped
    call('HSET', c.key, 'dropped', text(c.dropped))
  end
  if held_before == 0 and held_now > 0 then c.active = c.active + 1 end
  if held_before > 0 and held_now == 0 then c.active = c.active - 1 end
  if held_before + ended_before == 0 and held_now + ended_now > 0 then c.nqueues = c.nqueues + 1 end
  if held_before + ended_before > 0 and held_now + ended_now == 0 then c.nqueues = c.nqueues - 1 end
  q.dirty, c.dirty = true, true
end

-- result counts pages fetched and URLs that failed.
local function result(c, q, fetched, failed)
  if fetched == 0 and failed == 0 then return end
  local before = used(q)
  q.fetched, q.failed, c.fetched, c.failed = q.fetched + fetched, q.failed + failed, c.fetched + fetched, c.failed + failed
  if before == 0 then c.nqueues = c.nqueues + 1 end
  if used(q) == 0 then c.nqueues = c.nqueues - 1 end
  q.dirty, c.dirty = true, true
end

-- count_over counts overtaken leases.
local function count_over(c, q, n)
  q.over, c.over = q.over + n, c.over + n
  group.count(c, q, n)
  q.dirty, c.dirty = true, true
end

local function has_level(levels, p) return floor(levels / 2 ^ p) % 2 == 1 end

-- incarnation returns that of the queue with a row, or of a new one.
local function incarnation(row) return row and byte(row, #row < ROW_LEN and IDLE_LEN or ROW_LEN) or 0 end

-- longer_row returns the row of a queue with n more URLs of a priority, or nil if that can change its place: if it had none, or none
-- due as early, or if it may go before its turn.
local function longer_row(row, n, priority, due)
  if #row < ROW_LEN or priority == URGENT then return nil end
  local queued, first, levels = unpack_struct('>I6', row), unpack_struct('>I6B', row, 46)
  if queued == 0 or due < first then return nil end
  if not has_level(levels, priority) then levels = levels + 2 ^ priority end
  return pack('>I6', queued + n) .. sub(row, 7, 51) .. char(levels) .. sub(row, 53)
end
