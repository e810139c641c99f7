-- The text of a URL, and its lease; see R and L in FORMAT.md. A URL is leased if it has a lease, done or dropped if done is 1
-- or 2 in its record, else queued.
local RECORD, RECORD_LEN, QUEUE_META = '>BI6I6I6I4B', 24, '>Bc0I4c0' -- the earlier tokens of the round are in between, the URL is the rest
local TOKEN, EARLIER = 5, 15 -- bytes of an earlier token, and how many are kept

-- tokens_of returns how many earlier tokens a row has: its first byte is that | respelled | priority.
local function tokens_of(row) return floor(byte(row) / 16) end

local function parse_record(s)
  local r, first, pos = {}, nil, RECORD_LEN + 1 + TOKEN * tokens_of(s)
  first, r.due, r.created, r.arrival, r.attempts, r.inc = unpack_struct(RECORD, s)
  r.priority, r.respelled, r.earlier = first % 8, floor(first / 8) % 2, sub(s, RECORD_LEN + 1, pos - 1)
  r.queue, r.meta, pos = unpack_struct(QUEUE_META, s, pos)
  r.done, r.inc, r.url = r.inc % 4, floor(r.inc / 4), sub(s, pos)
  return r
end

-- ended_at is when a URL was completed or dropped. Format 8 does not have it.
local function ended_at(r) return r.due > 0 and r.due or r.created end

-- passed returns earlier tokens with another one. A lease that was given back has token 0, which no client has.
local function passed(earlier, token)
  if token == 0 then return earlier end
  return sub(earlier .. sub(pack('>I6', token), 2), -TOKEN * EARLIER)
end

local function is_earlier(r, token)
  local want = sub(pack('>I6', token), 2)
  for at = 1, #r.earlier, TOKEN do
    if sub(r.earlier, at, at + TOKEN - 1) == want then return true end
  end
  return false
end

-- pass_row returns the row of a record with a token among the earlier ones.
local function pass_row(row, token)
  local rest = RECORD_LEN + 1 + TOKEN * tokens_of(row)
  local earlier = passed(sub(row, RECORD_LEN + 1, rest - 1), token)
  return char(byte(row) % 16 + 16 * #earlier / TOKEN) .. sub(row, 2, RECORD_LEN) .. earlier .. sub(row, rest)
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
  l.client = sub(s, 24) -- of an overtaken lease what O has after it
  return l
end

local function write_record(c, key, r)
  c.records[key] = r
  put_row(c, key, pack(RECORD, r.priority + 8 * r.respelled + 16 * #r.earlier / TOKEN, r.due, r.created, r.arrival, r.attempts, r.done + 4 * r.inc) ..
    r.earlier .. pack(QUEUE_META, #r.queue, r.queue, #r.meta, r.meta) .. r.url)
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

local function lease_row(l) return pack(LEASE, l.token, l['until'], l.attempts, l.late, l.given) .. l.client end

-- An overtaken lease is no longer one of its URL, which an earlier token has ended or requeued, but its fetcher may still be at the
-- host. It counts as running until it is settled or ends. A key has at most one: a lease in O, with its queue. In E it is a list with its
-- key twice, since a list with the key alone may be that of the next lease.

-- load_over loads the overtaken leases of keys.
local function load_over(c, keys)
  if c.over == 0 then return end
  local rows = fetch(c.O, keys)
  for i = 1, #keys do
    if rows[i] then
      local o = parse_lease(rows[i])
      o.inc, o.queue = byte(rows[i], 24), sub(rows[i], 25)
      c.overs[keys[i]] = o
    end
  end
end

-- close_over ends the overtaken lease of a key, if it has one. Its queue may have been deleted.
local function close_over(c, key)
  local o = c.overs[key]
  if not o then return end
  c.overs[key] = nil
  call('HDEL', c.O, key)
  local q = find_queue(c, o.queue)
  if q and q.inc == o.inc and q.over > 0 then count_over(c, q, -1) end
end

-- overtake ends the lease of a URL, and keeps what is left of it.
local function overtake(c, q, key, l)
  close_over(c, key)
  count(c, q, 0, -1, 0, 0)
  count_over(c, q, 1)
  call('HDEL', c.L, key)
  l.client = char(q.inc) .. q.name
  call('HSET', c.O, key, lease_row(l))
  call('ZADD', c.E, text(l['until']), key .. key)
  c.leases[key], l.inc, l.queue, c.overs[key] = false, q.inc, q.name, l
end

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
