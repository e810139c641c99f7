-- The text of a URL, and its lease; see R and L in FORMAT.md. A URL is leased if it has a lease, done or dropped if done is 1
-- or 2 in its record, else queued.
local RECORD = '>BI6I6I6I4B'

local function parse_record(s)
  local r = {}
  local pos
  r.priority, r.due, r.created, r.arrival, r.attempts, r.inc, pos = unpack_struct(RECORD, s)
  r.done, r.inc = r.inc % 4, floor(r.inc / 4)
  local n = byte(s, pos)
  r.queue = sub(s, pos + 1, pos + n)
  pos = pos + 1 + n
  local m = unpack_struct('>I4', s, pos)
  r.meta, r.url = sub(s, pos + 4, pos + 3 + m), sub(s, pos + 4 + m)
  return r
end

local function record_row(r)
  return pack(RECORD, r.priority, r.due, r.created, r.arrival, r.attempts, r.done + 4 * r.inc) .. short(r.queue) .. long(r.meta) .. r.url
end

local function member(number, key) return pack('>I6c0', number, key) end

-- alive reports whether a record is of a queue that was not deleted since.
local function alive(c, r)
  local q = find_queue(c, r.queue)
  return q ~= nil and q.inc == r.inc
end

local LEASE = '>I6I6I4BI6'
local function parse_lease(s)
  local l = {}
  l.token, l['until'], l.attempts, l.late, l.given = unpack_struct(LEASE, s)
  return l
end

local function write_record(c, key, r)
  c.records[key] = r
  put_row(c, key, record_row(r))
end

local function drop_record(c, key)
  c.records[key] = false
  put_row(c, key, false)
end

-- drop_dead deletes what a deleted queue left of a key, but for its sets.
local function drop_dead(c, key)
  put_row(c, key, false)
  call('HDEL', c.L, key)
end

local function lease_row(l) return pack(LEASE, l.token, l['until'], l.attempts, l.late, l.given) end

-- push puts a URL at the end of its queue, without counting it.
local function push(c, q, key, r)
  r.arrival, r.done = call('HINCRBY', base .. 'S', 'arrivals', 1), 0
  call('ZADD', level_key(c, q, r.priority), r.due, member(r.arrival, key))
  if not has_level(q, r.priority) then q.levels = q.levels + 2 ^ r.priority end
  q.first, q.dirty = min(q.first, r.due), true
end

-- pull takes a queued URL out of its queue.
local function pull(c, q, key, r)
  call('ZREM', level_key(c, q, r.priority), member(r.arrival, key))
  count(c, q, -1, 0, 0, 0)
  q.doubt = true
end

-- unlease takes a lease away, without counting it.
local function unlease(c, q, key, l)
  if l.late == 1 then
    call('ZREM', queue_key(c, 'x', q), member(l.token, key))
    count(c, q, 0, 0, -1, 0)
  else
    count(c, q, 0, -1, 0, 0)
  end
end

-- run_lease lets a lease run, which has none of its marks.
local function run_lease(c, q, key, l)
  l.late = 0
  call('ZADD', c.E, l['until'], key)
  call('HSET', c.L, key, lease_row(l))
  count(c, q, 0, 1, 0, 0)
  c.leases[key] = l
end

-- end_url ends a URL as done (1) or dropped (2), by a record that is kept or not.
local function end_url(c, q, key, r, how, keep)
  count(c, q, 0, 0, 0, how == 1 and 1 or 0, how == 2 and 1 or 0)
  if keep then
    r.due, r.done = 0, how
    call('SADD', queue_key(c, 'd', q), key)
    write_record(c, key, r)
  else
    drop_record(c, key)
  end
end

-- unend takes that back, where the record was kept; it is not counted with forgotten.
local function unend(c, q, key, r, forgotten)
  if not forgotten then count(c, q, 0, 0, 0, r.done == 1 and -1 or 0, r.done == 2 and -1 or 0) end
  call('SREM', queue_key(c, 'd', q), key)
  r.done = 0
end

-- take_out takes a URL out of its queue, whatever its state. With forgotten, what has ended stays counted.
local function take_out(c, q, key, r, l, forgotten)
  if l then
    unlease(c, q, key, l)
    c.ended[#c.ended + 1], c.leases[key] = key, false
  elseif r.done > 0 then
    unend(c, q, key, r, forgotten)
  else
    pull(c, q, key, r)
  end
end

-- load_held loads the records and leases of keys, false for none, and their queues. It returns the rows of both.
local function load_held(c, keys)
  local rows, leases, names = get_rows(c, keys), fetch(c.L, keys), {}
  for i = 1, #keys do
    local r = rows[i] and parse_record(rows[i]) or false
    c.records[keys[i]] = r
    if r then names[#names + 1] = r.queue end
    c.leases[keys[i]] = leases[i] and parse_lease(leases[i]) or false
  end
  load_queues(c, names)
  for i = 1, #keys do
    local r = c.records[keys[i]]
    if r and not alive(c, r) then c.records[keys[i]], c.leases[keys[i]] = false, false end
  end
  return rows, leases
end
