-- Which queue's turn it is.

-- mark is how a queue is remembered as served.
local function mark(crawl, queue) return #crawl .. ':' .. crawl .. queue end

local at, last_crawl, last_queue = want.rest, nil, nil
while at <= #blob do
  local n = byte(blob, at)
  local m = byte(blob, at + 1 + n)
  last_crawl, last_queue = sub(blob, at + 1, at + n), sub(blob, at + 2 + n, at + 1 + n + m)
  served[mark(last_crawl, last_queue)] = true
  at = at + 2 + n + m
end

-- lane is a sorted set of ready queues, read a page at a time.
local function lane(key) return { key = key, from = 0, page = {}, i = 1 } end

-- peek returns the next queue that was not served and has fewer leases than the request allows, or nil. A page has
-- about as many queues as the request needs.
local function peek(c, l)
  while true do
    if l.i > #l.page then
      if l.ended then return nil end
      local n = max(4, min(256, math.ceil((want.urls - given) / want.each)))
      l.page, l.i = call('ZRANGE', l.key, text(l.from), text(l.from + n - 1)), 1
      l.from, l.ended = l.from + n, #l.page < n
      load_queues(c, l.page)
    else
      local q = c.queues[l.page[l.i]]
      if q and not served[c.mark .. q.name] and (want.bound == 0 or l.key == c.Y or q.live < want.bound) then return q end
      l.i = l.i + 1
    end
  end
end

-- pick returns the ready queue whose turn it is, or nil. A queue is filed under its turn (file.lua).
local function pick(c)
  local a, b = peek(c, c.free), want.bound ~= 1 and peek(c, c.busy) or nil
  if a and b then return (b.wake < a.wake or b.wake == a.wake and b.name < a.name) and b or a end
  return a or b
end

-- round serves crawls in turn until nothing is left or the request is satisfied; it
-- returns the crawl served last.
local function round(crawls)
  local left, i, last = {}, 1, nil
  for j, c in ipairs(crawls) do
    left[j] = c
    c.free, c.busy, c.mark = lane(c.Y), lane(c.y), mark(c.name, '')
    local q = want.unfinished > 0 and c.name == last_crawl and find_queue(c, last_queue)
    if q then serve(c, q, true) end
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

-- more_ready reports whether the crawl has something ready for this request.
local function more_ready(c)
  if call('ZCARD', c.Y) > 0 then return true end
  if want.bound == 1 then return false end
  c.busy, c.mark, served = lane(c.y), mark(c.name, ''), {}
  return peek(c, c.busy) ~= nil
end

-- next_of is when a crawl may have something that it has not now.
local function next_of(c)
  return gated(more_ready(c) and now or min(first_score(c.W), first_score(c.E)), c.set)
end
