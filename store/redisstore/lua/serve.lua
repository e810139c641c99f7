-- Handing out what queues have to give.
--
-- request: URLs 4 (0: only asks when there may be some) | queues 4 | URLs of a queue 4 | bound on leases 4 | URLs that the queue served last may still give 4 |
-- lease in ms 6 | delay in ms 6 | turn 7 | whole 1 | bytes 6 (0: no bound) | length of client 1 | client | crawls that have a limit 1 (255: there is no other shard), for
-- each: length 1 | crawl | what is fetched and leased of it in other shards 6 | how many of these leases ran out 6 | the queue that is meant, or those that this take served
-- already: for each, length 1 | crawl | length 1 | queue
--
-- turn is the latest that another shard served: a queue here with an earlier turn comes from
-- a shard that had nothing to do, and doesn't catch up. whole is 1 where the take goes on after this
-- script: a queue is left to the next one that has more than this one may still give.
local REQUEST = '>I4I4I4I4I4I6I6I7BI6Bc0'
local want = {}
want.urls, want.queues, want.each, want.bound, want.unfinished, want.lease, want.delay, want.turn, want.whole, want.bytes, want.client, want.rest =
  unpack_struct(REQUEST, blob)
if want.bytes == 0 then want.bytes = NEVER end
local n_limited, others, stranger = byte(blob, want.rest), {}, false
want.rest = want.rest + 1
for _ = 1, n_limited < 255 and n_limited or 0 do
  local name, sum, late, next = unpack_struct('>Bc0I6I6', blob, want.rest)
  others[name], want.rest = { sum, late }, next
end

-- crawl_room is room for a crawl, and how many pages are neither fetched nor in the hands of a fetcher. Of a crawl with a limit that the
-- request does not mention nothing is served: the daemon has to ask the other shards first, and is told so.
local function crawl_room(c)
  local limit = crawl_limit(c)
  if limit == 0 then return NEVER, NEVER end
  local of = n_limited == 255 and { 0, 0 } or others[c.name]
  if not of then
    stranger = true
    return -1, 0
  end
  local left = room(limit, c.fetched + of[1], c.leased)
  return left, left + c.late + of[2]
end
local token = tonumber(call('HGET', base .. 'S', 'tokens')) or 0
local given, bytes, served_queues, unfinished, ends = 0, 0, 0, 0, now + want.lease
local served = {} -- by crawl, the queues that this take served already
local ends_text, told = text(ends), {} -- pieces of the reply

local function filled() return given >= want.urls or bytes >= want.bytes end

-- give notes members of a set to lease, some of which may have leases that ran out, until the request has as many bytes as it asks
-- for, and strikes them off. It returns their number.
local function give(c, q, set, members, late)
  for i = 1, #members do members[i] = sub(members[i], 7) end
  local leases, rows, k, n = late and fetch(c.L, members), want.bytes < NEVER and get_rows(c, members), 0, #c.noted
  while k < #members and bytes < want.bytes do
    k, given = k + 1, given + 1
    c.noted[n + k], c.from[n + k], c.places[n + k], c.tries[n + k] = members[k], q, given, leases and sub(leases[k], 1, 16) or false
    if rows and rows[k] then bytes = bytes + #rows[k] - 29 - TOKEN * tokens_of(rows[k]) - #q.name end
  end
  if k > 0 then call('ZREMRANGEBYRANK', set, '0', text(k - 1)) end
  return k
end

-- lease leases the noted URLs, but for those without a record: they can't be fetched. Few leases of a script differ in more than
-- their tokens, and few records in length.
local function lease(c)
  local keys, heads, tails, leases, m, rows = c.noted, {}, {}, c.new_leases, 0, get_rows(c, c.noted)
  for i = 1, #keys do
    local key, row, at = keys[i], rows[i], 4 * c.places[i]
    if row then
      local late = c.tries[i]
      if late then
        row = pass_row(row, unpack_struct('>I6', late))
        put_row(c, key, row)
      end
      local tries, size = late and sub(late, 13) or sub(row, 20, 23), #row
      tails[tries] = tails[tries] or sub(pack(LEASE, 0, ends, unpack_struct('>I4', tries) + 1, 0, now), 7)
      heads[size] = heads[size] or c.short .. pack('>I4', size)
      local l = pack('>I6c0', token + at / 4, tails[tries])
      told[at - 3], told[at - 2], told[at - 1], told[at] = l, key, heads[size], row
      leases[m + 1], leases[m + 2] = key, l .. want.client
      c.leased_keys[m / 2 + 1] = key
      m = m + 2
    else
      told[at - 3], told[at - 2], told[at - 1], told[at] = '', '', '', ''
      call('HDEL', c.L, key)
      count(c, c.from[i], 0, -1, 0, 0)
      want.skipped = true
    end
  end
  leases[0] = c.short .. pack('>I4', (39 + #want.client) * m / 2)
end

local function give_late(c, q, n)
  local late = queue_key(c, 'x', q)
  local k = give(c, q, late, call('ZRANGE', late, '0', text(n - 1)), true)
  count(c, q, 0, k, -k, 0)
  return k
end

-- give_level leases URLs of one priority that are due. It asks for no scores: to print one costs more than to read a member. When
-- the next one is due is looked up only if it isn't due now.
local function give_level(c, q, p, n)
  local level = level_key(c, q, p)
  local members = call('ZRANGEBYSCORE', level, '-inf', text(now), 'LIMIT', '0', text(n + 1))
  local more = table.remove(members, n + 1)
  local k = give(c, q, level, members)
  q.doubt = q.doubt or not more and k == #members
  count(c, q, -k, k, 0, 0)
  return k
end

-- offers reports whether a queue has fewer leases than the request's bound, and is ready. One that only its turn in a group holds back may be taken
-- by its name, or for its leases that ran out.
local function offers(c, q)
  if not (is_ready(q) or q.place == LINE and passes(c, q) <= now) then return false end
  return want.bound == 0 or setting(c, q, 'inflight') ~= 0 or fetchers(c, q) < want.bound
end

-- serve leases what a queue may give. One that goes on after a full script has had its turn; one that is urgent keeps it.
local function serve(c, q, goes_on, urgent)
  if not goes_on and (c.refile or group.of(c, q)) and passes(c, q) > now then
    q.dirty = true
    return
  end
  local n, bound = goes_on and want.unfinished or want.each, setting(c, q, 'inflight')
  if bound == 0 then bound = want.bound end
  if bound > 0 then n = min(n, bound - fetchers(c, q)) end
  local pages, free = crawl_room(c)
  n = min(n, q.late + min(queue_room(c, q), max(0, pages)), free)
  local left = want.urls - given
  if want.whole == 1 and given > 0 and left < min(n, q.queued + q.late) then
    want.urls, want.left = given, true
    return
  end
  local most = min(n, left)
  if most <= 0 then return end
  local hurried = not goes_on and group.of(c, q) and group.urgent(c, q) and 1 or 0
  local got = q.late > 0 and give_late(c, q, most) or 0
  for p = q.levels > 1 and 7 or 0, 0, -1 do
    if got < most and has_level(q.levels, p) and not filled() then got = got + give_level(c, q, p, most - got) end
  end
  if got == 0 then return end
  unfinished = got == most and n - got or 0
  q.last, q.delay, c.gave[q.name] = now, want.delay, true
  if group.of(c, q) then group.recall(c, q).gave = true end
  if goes_on then return end
  if group.of(c, q) then group.of(c, q).hurried = hurried end
  served_queues = served_queues + 1
  if c.urgent then c.urgent = urgent and '1' or '0' end
  if urgent then return end
  c.turn = max(q.turn, want.turn)
  q.turn = c.turn + floor(65536 / max(1, setting(c, q, 'weight')))
end

local function full() return filled() or served_queues >= want.queues end

-- open_for_take loads a crawl for a take, and does what time alone changes.
local function open_for_take(c)
  begin(c)
  c.noted, c.from, c.places, c.tries, c.new_leases, c.leased_keys, c.gave, c.short = {}, {}, {}, {}, {}, {}, served[c.name] or {}, short(c.name)
  want.stopped = advance(c) or want.stopped
  c.was_urgent = c.urgent
  return c
end

local function save_take(c)
  lease(c)
  many('HSET', c.L, c.new_leases)
  if c.urgent ~= c.was_urgent then call('HSET', c.key, 'urgent', c.urgent) end
  for i = 1, #c.leased_keys, PAGE do call('ZADD', c.E, ends_text, concat(c.leased_keys, '', i, min(i + PAGE - 1, #c.leased_keys))) end
  file_queues(c)
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
local function answer_take(crawls, next, state)
  local list = { 'S' .. char(#want.client) }
  for _, c in ipairs(crawls) do if #c.new_leases > 0 then list[#list + 1] = concat(c.new_leases, '', 0) end end
  if given > 0 then call('HSET', base .. 'S', 'tokens', text(token + given)) end
  if next == NEVER then next = 0 end
  if stranger then next = 2 end
  if given > 0 and given >= want.urls then next = now end
  if want.skipped or want.left or not filled() and (want.stopped or full() and next == now) or given < want.urls and bytes >= want.bytes then next = 1 end
  answer(concat(list))
  told[0] = 'F' .. pack('>I6I4', next, unfinished) .. long(state)
  return concat(told, '', 0)
end
