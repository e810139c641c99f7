-- What takes the place of rotate.lua where one queue is meant.
local meant, goes_on = sub(blob, want.rest), want.unfinished > 0

local function round(crawls)
  local c = crawls[1]
  local q = c and let_through(c.set) and find_queue(c, meant)
  if q and (goes_on or offers(c, q)) then serve(c, q, goes_on) end
end

-- next_of is when the queue may have something for this request, with so much room in the crawl, and what holds it back.
local function next_of(c, q, left)
  if left == 0 and q.late == 0 then return NEVER, FREE end
  if offers(c, q) then return now, FREE end
  local t, by = passes(c, q)
  if t <= now then return NEVER, FREE end -- it has as many leases as this request allows
  return t, by
end

local function tell_of(sum, c, limit)
  local q = find_queue(c, meant)
  if not q then return end
  local runs, held_any = running(q) > 0, held(q) > 0 and 1 or 0
  local changes = fetchers(c, q) > 0 or q.late > 0 and crawl_room(c) < 0 -- with the end of a lease: beyond the limit of any in the crawl
  add_state(sum, c, limit, q.late > 0, held_any, q.hold == PAUSED and 1 or 0, q.hold == LIMITED and 1 or 0, q.hold == BLOCKED and 1 or 0, runs,
    function(left) return next_of(c, q, left) end, changes and first_end(c) or NEVER)
end
