-- Handing out what queues have to give.
--
-- request: URLs 4 (0: only asks when there may be some) | queues 4 | URLs of a queue 4 | bound on leases 4 | URLs that the queue served last may still give 4 |
-- lease in ms 6 | delay in ms 6 | turn 7 | whole 1 | bytes 6 (0: no bound) | the queue that is meant, or those that this take
-- served already: for each, length 1 | crawl | length 1 | queue
--
-- turn is the latest that another shard served: a queue here with an earlier turn comes from
-- a shard that had nothing to do, and doesn't catch up. whole is 1 where the take goes on after this
-- script: a queue is left to the next one that has more than this one may still give.
local REQUEST = '>I4I4I4I4I4I6I6I7BI6'
local want = {}
want.urls, want.queues, want.each, want.bound, want.unfinished, want.lease, want.delay, want.turn, want.whole, want.bytes, want.rest =
  unpack_struct(REQUEST, blob)
if want.bytes == 0 then want.bytes = NEVER end
local token = tonumber(call('HGET', base .. 'S', 'tokens')) or 0
local given, bytes, served_queues, unfinished, served, ends = 0, 0, 0, 0, {}, now + want.lease
local ends_text, told = text(ends), {} -- pieces of the reply

-- give leases one URL, unless it has no record: then it can't be fetched. attempts is nil for one without a lease.
local function give(c, q, key, row, attempts)
  if not row then
    call('HDEL', c.L, key)
    want.skipped = true
    return 0
  end
  local n, m = 5 * given, #c.new_leases
  given, bytes = given + 1, bytes + #row - 29 - #q.name
  local lease = pack(LEASE, token + given, ends, (attempts or unpack_struct('>I4', row, 20)) + 1, 0, now)
  told[n + 1], told[n + 2], told[n + 3], told[n + 4], told[n + 5] = lease, key, c.short, pack('>I4', #row), row
  c.new_leases[m + 1], c.new_leases[m + 2] = key, lease
  c.new_ends[m + 1], c.new_ends[m + 2] = ends_text, key
  return 1
end

local function filled() return given >= want.urls or bytes >= want.bytes end

-- hand_out leases URLs, some of which may have leases that ran out, until the request has all that it asks for. It returns how
-- many it went through, and how many it leased.
local function hand_out(c, q, keys, leases)
  local rows, k, got = get_rows(c, keys), 0, 0
  while k < #keys and not filled() do
    k = k + 1
    got = got + give(c, q, keys[k], rows[k], leases and unpack_struct('>I4', leases[k], 13))
  end
  return k, got
end

-- give_late leases URLs again whose leases ran out, earliest first.
local function give_late(c, q, n)
  local late, keys = queue_key(c, 'x', q), {}
  local members = call('ZRANGE', late, '0', text(n - 1))
  for i = 1, #members do keys[i] = sub(members[i], 7) end
  local k, got = hand_out(c, q, keys, fetch(c.L, keys))
  for i = 1, k do c.leases[keys[i]] = nil end
  if k > 0 then call('ZREMRANGEBYRANK', late, '0', text(k - 1)) end
  count(c, q, 0, got, -k, 0)
  return got
end

-- give_level leases URLs of one priority that are due.
local function give_level(c, q, p, n)
  local level, keys = level_key(c, q, p), {}
  local list = call('ZRANGE', level, '0', text(n), 'WITHSCORES')
  while #keys < n and list[2 * #keys + 2] and tonumber(list[2 * #keys + 2]) <= now do keys[#keys + 1] = sub(list[2 * #keys + 1], 7) end
  local k, got = hand_out(c, q, keys)
  if k == 0 then return 0 end
  call('ZREMRANGEBYRANK', level, '0', text(k - 1))
  if q.levels ~= 2 ^ p then
    q.doubt = true
  elseif list[2 * k + 2] then
    q.first = tonumber(list[2 * k + 2])
  else
    q.first, q.levels = NEVER, 0
  end
  count(c, q, -k, got, 0, 0)
  return got
end

-- serve leases what a queue may give. One that goes on after a full script has had its turn.
local function serve(c, q, goes_on)
  if not goes_on and c.refile and opens(c, q) > now then
    q.dirty = true
    return
  end
  local n, bound = goes_on and want.unfinished or want.each, setting(c, q, 'inflight')
  if bound == 0 then bound = want.bound end
  if bound > 0 then n = min(n, bound - q.live) end
  local room = want.urls - given
  if want.whole == 1 and given > 0 and room < min(n, q.queued + q.late) then
    want.urls, want.left = given, true
    return
  end
  local most = min(n, room)
  if most <= 0 then return end
  local got = q.late > 0 and give_late(c, q, most) or 0
  for p = 7, 0, -1 do
    if got < most and has_level(q, p) and not filled() then got = got + give_level(c, q, p, most - got) end
  end
  if got == 0 then return end
  unfinished = got == most and n - got or 0
  q.last, q.delay = now, want.delay
  if goes_on then return end
  served_queues = served_queues + 1
  c.turn = max(q.turn, want.turn)
  q.turn = c.turn + floor(65536 / max(1, setting(c, q, 'weight')))
end

local function full() return filled() or served_queues >= want.queues end

-- open_for_take loads a crawl for a take, and does what time alone changes.
local function open_for_take(c)
  begin(c)
  c.new_leases, c.new_ends, c.short = {}, {}, short(c.name)
  want.stopped = advance(c) or want.stopped
  return c
end

local function save_take(c)
  many('HSET', c.L, c.new_leases)
  many('ZADD', c.E, c.new_ends)
  settle_queues(c)
  save_counts(c)
end

-- turn_to leaves the crawls so that the one served last is last.
local function turn_to(crawls, last)
  if not last or #crawls < 2 then return end
  local at, args = 0, {}
  for i, c in ipairs(crawls) do if c == last then at = i end end
  for i = 1, #crawls do
    args[#args + 1] = i
    args[#args + 1] = crawls[(at + i - 1) % #crawls + 1].name
  end
  many('ZADD', turns_key, args)
end

-- answer_take returns the reply, and keeps the list of leases: if the answer is lost, they are given back.
local function answer_take(crawls, next)
  local noted = { 'S' }
  for _, c in ipairs(crawls) do if #c.new_leases > 0 then noted[#noted + 1] = c.short .. long(concat(c.new_leases)) end end
  if given > 0 then call('HSET', base .. 'S', 'tokens', text(token + given)) end
  if next == NEVER then next = 0 end
  if want.skipped or given > 0 and given >= want.urls then next = now end
  if want.left or not filled() and (want.stopped or full() and next == now) or given < want.urls and bytes >= want.bytes then next = 1 end
  answer(concat(noted))
  return 'F' .. pack('>I6I4', next, unfinished) .. concat(told)
end
