-- Handing out what queues have to give.
--
-- request: URLs 4 | queues 4 | URLs of a queue 4 | bound on leases 4 | lease in ms 6 |
-- delay in ms 6 | turn 7 | whole 1 | the queue that is meant, or those of this call that were served already:
-- for each, length 1 | crawl | length 1 | queue
--
-- turn is the latest that another shard served: a queue here that is behind it comes from
-- a shard that had nothing to do, and doesn't catch up. whole is 1 where other shards are
-- asked for the rest: a queue is left to them that has more than may be given here.
local PAGE = 200 -- how many leases that ran out, and queues whose time has come, one call looks at
local want = {}
want.urls, want.queues, want.each, want.bound, want.lease, want.delay, want.turn, want.whole =
  unpack_struct('>I4I4I4I4I6I6I7B', blob)
local token = tonumber(call('HGET', base .. 'S', 'tokens')) or 0
local given, served_queues, served, ends = 0, 0, {}, now + want.lease
local since = pack('>I6', now)
local told, noted = {}, {} -- pieces of the reply, four for each URL given, and of what is kept of it, three

-- give notes one URL as leased, whose record is read with those of the others.
local function give(c, q, key, attempts)
  given = given + 1
  local n = #c.keys + 1
  c.keys[n], c.from[n], c.places[n], c.attempts[n] = key, q, given, attempts
end

-- give_late gives leases that ran out, earliest first.
local function give_late(c, q, n)
  local late = queue_key(c, 'x', q)
  local members, keys = call('ZRANGE', late, '0', text(n - 1)), {}
  for i = 1, #members do keys[i] = sub(members[i], 7) end
  if #keys == 0 then return 0 end
  local leases = fetch(c.L, keys)
  for i = 1, #keys do
    give(c, q, keys[i], unpack_struct('>I4', leases[i], 13))
    c.leases[keys[i]] = nil
  end
  many('ZREM', late, members)
  count(c, q, 0, #keys, -#keys, 0)
  return #keys
end

-- give_level gives what is due of one priority.
local function give_level(c, q, p, n)
  local level = level_key(c, q, p)
  local list, k, due, last = call('ZRANGE', level, '0', text(n), 'WITHSCORES'), 0, 0, nil
  for i = 1, min(#list, 2 * n), 2 do
    if list[i + 1] ~= last then
      last = list[i + 1]
      due = tonumber(last)
    end
    if due > now then break end
    k = k + 1
    give(c, q, sub(list[i], 7), false)
  end
  if k == 0 then return 0 end
  call('ZREMRANGEBYRANK', level, '0', text(k - 1))
  if q.levels ~= 2 ^ p then
    q.doubt = true
  elseif list[2 * k + 2] then
    q.first = tonumber(list[2 * k + 2])
  else
    q.first, q.levels = NEVER, 0
  end
  count(c, q, -k, k, 0, 0)
  return k
end

-- skip counts a URL no longer that was given and has no record: it can't be fetched.
local function skip(c, i)
  local place = c.places[i]
  for at = 4 * place - 3, 4 * place do told[at] = '' end
  for at = 3 * place - 2, 3 * place do noted[at] = '' end
  call('HDEL', c.L, c.keys[i])
  count(c, c.from[i], 0, -1, 0, 0)
  want.skipped = true
end

-- write_leases makes leases of what a crawl gave, in a call for all records, one for all
-- leases and one for their ends.
local function write_leases(c)
  local rows, leases, running, heads, ends_text = fetch(c.R, c.keys), {}, {}, {}, text(ends)
  for i = 1, #rows do
    local key, row, at = c.keys[i], rows[i], 4 * c.places[i]
    if row then
      local size = #row
      local lease = pack('>I6I6I4B', token + c.places[i], ends, (c.attempts[i] or unpack_struct('>I4', row, 20)) + 1, 0)
      local head = heads[size]
      if not head then
        head = c.short .. pack('>I4', size)
        heads[size] = head
      end
      told[at - 3], told[at - 2], told[at - 1], told[at] = lease, key, head, row
      at = 3 * c.places[i]
      noted[at - 2], noted[at - 1], noted[at] = lease, key, c.short
      local n = #leases
      leases[n + 1], leases[n + 2] = key, lease .. since
      running[n + 1], running[n + 2] = ends_text, key
    else
      skip(c, i)
    end
  end
  many('HSET', c.L, leases)
  many('ZADD', c.E, running)
  c.keys, c.from, c.places, c.attempts = {}, {}, {}, {}
end

-- serve leases what a queue may give.
local function serve(c, q)
  if c.refile and opens(c, q) > now then
    q.dirty = true
    return
  end
  local n, bound = want.each, setting(c, q, 'inflight')
  if bound == 0 then bound = want.bound end
  if bound > 0 then n = min(n, bound - q.live) end
  local room = want.urls - given
  if want.whole == 1 and room < min(n, q.queued + q.late) then
    want.urls, want.left = given, true
    return
  end
  n = min(n, room)
  if n <= 0 then return end
  local got = q.late > 0 and give_late(c, q, n) or 0
  for p = 7, 0, -1 do
    if got < n and has_level(q, p) then got = got + give_level(c, q, p, n - got) end
  end
  if got == 0 then return end
  served_queues = served_queues + 1
  q.last, q.delay = now, want.delay
  c.turn = max(q.turn, want.turn)
  q.turn = c.turn + floor(65536 / max(1, setting(c, q, 'weight')))
end

local function full()
  return given >= want.urls or (want.queues > 0 and served_queues >= want.queues)
end

-- open_for_take loads a crawl for a take.
local function open_for_take(c)
  begin(c)
  c.keys, c.from, c.places, c.attempts, c.short = {}, {}, {}, {}, pack('>I1c0', #c.name, c.name)
  return c
end

local function save_take(c)
  if #c.keys > 0 then write_leases(c) end
  settle_queues(c)
  save_counts(c)
end

-- first_score returns the lowest score of a sorted set.
local function first_score(key)
  local head = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  return tonumber(head[2]) or NEVER
end

-- reply returns the reply, and what is kept of it for a retry: without the text of the URLs,
-- which would be most of what a replica gets.
local function reply(next)
  if given > 0 then call('HSET', base .. 'S', 'tokens', text(token + given)) end
  if given >= want.urls or next == NEVER then next = 0 end
  if want.skipped then next = now end
  if want.stopped and given < want.urls or want.left then next = 1 end
  local head = pack('>I6', next)
  told[0], noted[0] = 'F' .. head, 'S' .. head
  return concat(told, '', 0), concat(noted, '', 0)
end

local function answer_take(next)
  local full, short = reply(next)
  answer(short)
  return full
end
