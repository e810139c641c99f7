-- What takes the place of rotate.lua where one queue is meant.
local meant, goes_on = sub(blob, want.rest), want.unfinished > 0

local function offers(c, q)
  if q.place < 2 then return false end
  return want.bound == 0 or setting(c, q, 'inflight') ~= 0 or q.live < want.bound
end

local function round(crawls)
  local c = crawls[1]
  local q = c and let_through(c.set) and find_queue(c, meant)
  if q and (goes_on or offers(c, q)) then serve(c, q, goes_on) end
end

local function next_of(c)
  local q = find_queue(c, meant)
  if not q then return NEVER end
  local next = opens(c, q)
  if offers(c, q) then
    next = now
  elseif next <= now then
    next = NEVER -- as many leases as this request allows
  end
  if q.live > 0 then next = min(next, first_end(c)) end
  return gated(next, c.set)
end
