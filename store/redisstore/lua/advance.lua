-- What time alone changes: leases run out, and queues that waited become ready.

-- follow looks at all leases and at all queues that wait, if the clock was set back: what was written
-- while it was ahead must not hold them up.
local function follow(c)
  if now + 1000 >= c.clock then return end
  c.clock, c.dirty = now, true
  local keys = call('ZRANGE', c.E, 0, -1)
  for i = 1, #keys do
    local l = find_lease(c, keys[i])
    if l and l.given > now then
      l['until'], l.given = now + max(0, l['until'] - l.given), now
      call('HSET', c.L, keys[i], lease_row(l))
      call('ZADD', c.E, l['until'], keys[i])
    end
  end
  local names = call('ZRANGE', c.W, 0, -1)
  load_queues(c, names)
  for i = 1, #names do c.queues[names[i]].dirty = true end
end

-- expire moves leases that ran out to their queues, and returns whether more did.
local function expire(c, limit)
  follow(c)
  local keys = call('ZRANGEBYSCORE', c.E, '-inf', now, 'LIMIT', 0, limit)
  if #keys == 0 then return false end
  local records, rows = fetch(c.R, keys), {}
  for i = 1, #keys do
    local key, r = keys[i], parse_record(records[i])
    local l, q = find_lease(c, key), find_queue(c, r.queue)
    l.late = 1
    -- That of a deleted queue goes to what is left of it.
    call('ZADD', queue_key(c, 'x', { name = r.queue, inc = r.inc }), l['until'], member(l.token, key))
    rows[#rows + 1], rows[#rows + 2] = key, lease_row(l)
    if q.inc == r.inc then count(c, q, 0, -1, 1, 0) end
  end
  many('ZREM', c.E, keys)
  many('HSET', c.L, rows)
  return #keys == limit
end

-- wake files anew the queues whose time has come, and returns whether there are more.
local function wake(c, limit)
  local names = call('ZRANGEBYSCORE', c.W, '-inf', now, 'LIMIT', 0, limit)
  load_queues(c, names)
  for i = 1, #names do c.queues[names[i]].dirty = true end
  return #names == limit
end

-- advance does both for at most so many, and returns whether there are more.
local function advance(c, limit)
  local more = expire(c, limit)
  if c.refile then more = refile(c, limit) or more end
  more = wake(c, limit) or more
  settle_queues(c)
  return more
end
