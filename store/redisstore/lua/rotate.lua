-- Which queue's turn it is.

-- mark is how a queue is remembered as served.
local function mark(crawl, queue) return #crawl .. ':' .. crawl .. queue end

local at = want.rest
while at <= #blob do
  local n = byte(blob, at)
  local m = byte(blob, at + 1 + n)
  served[mark(sub(blob, at + 1, at + n), sub(blob, at + 2 + n, at + 1 + n + m))] = true
  at = at + 2 + n + m
end

-- lane is a sorted set of ready queues, read a page at a time.
local function lane(key) return { key = key, from = 0, page = {}, i = 1 } end

-- peek returns the next queue's name and turn. A page has about as many queues as the
-- request needs.
local function peek(l)
  if l.i > #l.page then
    if l.ended then return nil end
    local n = max(4, min(256, math.ceil((want.urls - given) / want.each)))
    l.page, l.i, l.loaded = call('ZRANGE', l.key, text(l.from), text(l.from + n - 1), 'WITHSCORES'), 1, false
    l.from, l.ended = l.from + n, #l.page < 2 * n
    if #l.page == 0 then return nil end
  end
  return l.page[l.i], tonumber(l.page[l.i + 1])
end

-- load loads the rest of a page, not before one of it is needed.
local function load(c, l)
  if l.loaded then return end
  local names = {}
  for i = l.i, #l.page, 2 do names[#names + 1] = l.page[i] end
  load_queues(c, names)
  l.loaded = true
end

-- peek_allowed skips queues that were served, or have as many leases as the request allows.
local function peek_allowed(c, l)
  while true do
    local name, turn = peek(l)
    if not name then return nil end
    if not served[c.mark .. name] then
      if want.bound == 0 or l.key == c.Y then return name, turn end
      load(c, l)
      if c.queues[name].live < want.bound then return name, turn end
    end
    l.i = l.i + 2
  end
end

local function take_from(c, l)
  load(c, l)
  local q = c.queues[l.page[l.i]]
  l.i = l.i + 2
  return q
end

-- pick returns the ready queue whose turn it is, or nil.
local function pick(c)
  local a, turn_a = peek_allowed(c, c.free)
  local b, turn_b = nil, nil
  if want.bound ~= 1 then b, turn_b = peek_allowed(c, c.busy) end
  if a and b and (turn_b < turn_a or (turn_b == turn_a and b < a)) then a = nil end
  if a then return take_from(c, c.free) end
  if b then return take_from(c, c.busy) end
end

-- round serves crawls in turn until nothing is left or the request is satisfied; it
-- returns the crawl served last.
local function round(crawls)
  local left, i, last = {}, 1, nil
  for j, c in ipairs(crawls) do
    left[j] = c
    c.free, c.busy, c.mark = lane(c.Y), lane(c.y), mark(c.name, '')
  end
  while #left > 0 and not full() do
    if i > #left then i = 1 end
    local c = left[i]
    local q = let_through(c.set) and pick(c)
    if q then
      served[c.mark .. q.name] = true
      serve(c, q)
      last, i = c, i + 1
    else
      table.remove(left, i)
    end
  end
  return last
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

-- more_ready reports whether the crawl has something ready for this request.
local function more_ready(c)
  if call('ZCARD', c.Y) > 0 then return true end
  if want.bound == 1 then return false end
  c.busy, c.mark, served = lane(c.y), mark(c.name, ''), {}
  return peek_allowed(c, c.busy) ~= nil
end

-- next_of is when a crawl may have something that it has not now.
local function next_of(c)
  return gated(more_ready(c) and now or min(first_score(c.W), first_score(c.E)), c.set)
end
