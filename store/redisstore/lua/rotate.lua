-- Which queue's turn it is.

local at, last_crawl, last_queue = want.rest, nil, nil
while at <= #blob do
  last_crawl, last_queue, at = unpack_struct('>Bc0Bc0', blob, at)
  served[last_crawl] = served[last_crawl] or {}
  served[last_crawl][last_queue] = true
end

local MOST_LATE = 256 -- queues with leases that ran out that a script looks at

-- late_queues returns queues with leases that ran out, in turn.
local function late_queues(c)
  local list = {}
  for _, name in ipairs(call('SRANDMEMBER', c.X, MOST_LATE)) do
    local q = find_queue(c, name)
    if q and offers(c, q) and q.late > 0 and not c.gave[name] then list[#list + 1] = q end
  end
  table.sort(list, function(a, b) return a.wake < b.wake or a.wake == b.wake and a.name < b.name end)
  for i = 1, #list do list[i] = list[i].name end
  return list
end

-- begin_lanes makes ready what pick reads: the sets of ready queues that have fewer leases than the request's bound. Without room
-- under the limit of the crawl, those are queues with leases that ran out.
local function begin_lanes(c, left)
  c.lanes, c.hasty, c.tight = {}, nil, left <= 0
  if c.tight then
    if c.late > 0 then c.lanes[1] = { page = late_queues(c), rows = {}, i = 0, ended = true } end
    return
  end
  for n = 0, want.bound > 0 and min(want.bound - 1, LANES) or LANES do
    c.lanes[n + 1] = { key = c.ready[n + 1], from = 0, page = {}, i = 0, size = n == 0 and math.ceil((want.urls - given) / want.each) or 0, last = n == LANES }
  end
end

local MOST = 1000 -- queues of the last lane that a script looks at: some may have as many leases as a larger bound

-- peek returns the next queue that was not served and may be, or nil. Pages grow: most lanes have few queues that get a turn.
local function peek(c, l)
  while true do
    l.i = l.i + 1
    local name = l.page[l.i]
    local q = name and not c.gave[name] and find_queue(c, name, l.rows[l.i])
    if q and not (l.last and want.bound > 0 and fetchers(c, q) >= want.bound) then return q end
    if not name then
      if l.ended then return nil end
      local n = max(4, min(256, l.size))
      l.page, l.i, l.size = call('ZRANGE', l.key, text(l.from), text(l.from + n - 1)), 0, 2 * n
      l.rows, l.from, l.ended = fetch(c.Q, l.page), l.from + n, #l.page < n or l.last and l.from + n >= MOST
    end
  end
end

-- pick_urgent returns the queue that goes before its turn, or nil. Of two that the shard serves one after the other it is at most one.
local function pick_urgent(c)
  if c.urgent ~= '0' or c.tight then return nil end
  c.hasty = c.hasty or call('ZRANGEBYSCORE', c.U, '-inf', text(now), 'LIMIT', '0', text(MOST))
  while c.hasty[1] do
    local name = table.remove(c.hasty, 1)
    local q = not c.gave[name] and find_queue(c, name)
    if q and offers(c, q) then return q end
  end
end

-- pick returns the ready queue whose turn it is, or nil. A queue is filed under its turn (file.lua).
local function pick(c)
  local first, from = nil, {}
  for i = #c.lanes, 1, -1 do
    local l = c.lanes[i]
    if not l.head or c.gave[l.head.name] then l.head = peek(c, l) end
    if not l.head then
      table.remove(c.lanes, i)
    elseif not first or l.head.wake < first.wake or l.head.wake == first.wake and l.head.name < first.name then
      first, from = l.head, l
    end
  end
  from.head = nil
  return first
end

-- round serves crawls in turn until nothing is left or the request is satisfied; it
-- returns the crawl served last.
local function round(crawls)
  local left, i, last = {}, 1, nil
  for j, c in ipairs(crawls) do
    left[j] = c
    local q = want.unfinished > 0 and c.name == last_crawl and find_queue(c, last_queue)
    if q then serve(c, q, true) end
    begin_lanes(c, (crawl_room(c)))
  end
  while #left > 0 and not full() do
    if i > #left then i = 1 end
    local c = left[i]
    local room_left, free = crawl_room(c)
    if not c.tight and room_left <= 0 then begin_lanes(c, room_left) end
    local open = free > 0 and let_through(c.set)
    local urgent = open and pick_urgent(c)
    local q = urgent or open and pick(c)
    if q then
      serve(c, q, false, urgent)
      last, i = c, i + 1
    else
      table.remove(left, i)
    end
  end
  return last
end

-- next_of is when a crawl may have something for this request that it has not given, with so much room, and what holds it back.
local function next_of(c, left)
  c.gave = {}
  begin_lanes(c, left)
  if pick(c) then return now, FREE end
  return first_waiting(c, left)
end

-- tell_of adds a crawl to the state. A front that is ready at once, after another queue of its group gave, was in no lane.
local function tell_of(sum, c, limit)
  for _, g in pairs(c.groups) do
    local q = g.gave and not full() and find_queue(c, g.front)
    if q and offers(c, q) and not c.gave[q.name] then want.left = true end
  end
  add_crawl(sum, c, limit, function(left) return next_of(c, left) end, first_end(c))
end
