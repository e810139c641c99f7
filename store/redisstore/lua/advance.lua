-- What time alone changes: leases run out, and queues that waited become ready.

-- expire moves leases that ran out to their queues, and returns whether more did.
local function expire(c, limit)
  local keys = call('ZRANGEBYSCORE', c.E, '-inf', now, 'LIMIT', 0, limit)
  if #keys == 0 then return false end
  local records, rows = fetch(c.R, keys), {}
  for i = 1, #keys do
    local key = keys[i]
    c.records[key] = c.records[key] or parse_record(records[i])
    local l, q = find_lease(c, key), find_queue(c, c.records[key].queue)
    l.late = 1
    call('ZADD', queue_key(c, 'x', q), l['until'], member(l.token, key))
    rows[#rows + 1], rows[#rows + 2] = key, lease_row(l)
    count(c, q, 0, -1, 1, 0)
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
  more = wake(c, limit) or more
  settle_queues(c)
  return more
end
