-- The text of a URL, and its lease; see R and L in FORMAT.md. A URL is leased if it has a lease, done or dropped if done is 1
-- or 2 in its record, else queued.
local RECORD = '>BI6I6I6I4BBc0I4c0' -- but for the URL, which is the rest

local function parse_record(s)
  local r, pos = {}, nil
  r.priority, r.due, r.created, r.arrival, r.attempts, r.inc, r.queue, r.meta, pos = unpack_struct(RECORD, s)
  r.done, r.inc, r.url = r.inc % 4, floor(r.inc / 4), sub(s, pos)
  return r
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
  put_row(c, key, pack(RECORD, r.priority, r.due, r.created, r.arrival, r.attempts, r.done + 4 * r.inc, #r.queue, r.queue, #r.meta, r.meta) .. r.url)
end

local function drop_record(c, key)
  c.records[key] = false
  put_row(c, key, false)
end

-- drop_deleted deletes what a deleted queue left of a key, but for its sets.
local function drop_deleted(c, key)
  put_row(c, key, false)
  call('HDEL', c.L, key)
end

local function lease_row(l) return pack(LEASE, l.token, l['until'], l.attempts, l.late, l.given) end

local function unlease(c, q, key, l)
  if l.late == 1 then
    call('ZREM', queue_key(c, 'x', q), member(l.token, key))
    count(c, q, 0, 0, -1, 0)
  else
    count(c, q, 0, -1, 0, 0)
  end
end

-- unend has a URL, whose record was kept, no longer completed or dropped; with forgotten, it stays counted.
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
    call('ZREM', level_key(c, q, r.priority), member(r.arrival, key))
    count(c, q, -1, 0, 0, 0)
    q.doubt = true
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
