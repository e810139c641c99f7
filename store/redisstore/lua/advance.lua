-- What time alone changes: leases run out, and queues that waited become ready. One call looks at a page of each.
local PAGE = 48

-- follow visits all leases, overtaken ones too, and all queues, a page at a time, if the clock was set back: times that were written while
-- it was ahead must not delay them.
local function follow(c)
  if now + 1000 < c.clock then
    c.clock, c.dirty, c.refile, c.follow, c.trail = now, true, '', '', ''
    call('HSET', c.key, 'clock', text(now), 'refile', '', 'follow', '', 'trail', '')
  end
  local function rebase_in(key_of, times)
    return function(key, row)
      local l = parse_lease(row)
      if l.late == 1 or l.given <= now then return end
      l['until'], l.given = now + max(0, l['until'] - l.given), now
      call('HSET', key_of, key, lease_row(l))
      call('ZADD', c.E, text(l['until']), key:rep(times))
    end
  end
  local more = page(c, 'follow', c.L, PAGE, rebase_in(c.L, 1))
  return page(c, 'trail', c.O, PAGE, rebase_in(c.O, 2)) or more
end

-- refile files queues again whose settings above them were changed.
local function refile(c)
  return page(c, 'refile', c.Q, PAGE, function(name, row)
    local q = find_queue(c, name, row)
    if held(q) > 0 then q.dirty = true end
  end)
end

-- expire moves leases that ran out to their queues, and closes overtaken ones. E has lists of keys of which some have been settled, or leased for longer, since.
local function expire(c)
  local lists, rows = call('ZRANGEBYSCORE', c.E, '-inf', now, 'LIMIT', 0, PAGE), {}
  local keys, n = keys_of(lists, PAGE)
  local records, leases = load_held(c, keys)
  load_over(c, keys)
  for i = 1, #keys do
    local key, l, o = keys[i], leases[i] and (c.leases[keys[i]] or parse_lease(leases[i])), c.overs[keys[i]]
    if o and o['until'] <= now then close_over(c, key) end
    if l and l.late == 0 and l['until'] <= now then
      local r = parse_record(records[i])
      local q = find_queue(c, r.queue)
      l.late = 1
      -- A lease of a deleted queue goes to the sets of that incarnation.
      call('ZADD', queue_key(c, 'x', { name = r.queue, inc = r.inc }), l['until'], member(l.token, key))
      rows[#rows + 1], rows[#rows + 2] = key, lease_row(l)
      if q.inc == r.inc then count(c, q, 0, -1, 1, 0) end
    end
  end
  if n > 0 then call('ZREM', c.E, unpack(lists, 1, n)) end
  many('HSET', c.L, rows)
  return #keys >= PAGE
end

local function wake(c)
  local names = call('ZRANGEBYSCORE', c.W, '-inf', now, 'LIMIT', 0, PAGE)
  load_queues(c, names)
  for i = 1, #names do c.queues[names[i]].dirty = true end
  return #names == PAGE
end

-- advance does all of that, and returns whether there is more to do.
local function advance(c)
  local more = false
  for _, step in ipairs({ follow, expire, refile, wake }) do more = step(c) or more end
  file_queues(c)
  return more
end
