-- Leases URLs of one queue that are due. blob and reply as for take.lua.
local c, all = find_crawl(crawl_name), store_settings()
if not c then return answer_take(NEVER) end
open_for_take(c)
local q = find_queue(c, sub(blob, want.rest))

-- offers reports whether the queue is ready for a request with this bound.
local function offers()
  if q.place < 2 then return false end
  return want.bound == 0 or setting(c, q, 'inflight') ~= 0 or q.live < want.bound
end

local goes_on = want.unfinished > 0
if q and let_through(all) and let_through(c.set) and (goes_on or offers()) then serve(c, q, goes_on) end
save_take(c)
if not q then return answer_take(NEVER) end
local next = opens(c, q)
if offers() then
  next = now
elseif next <= now then
  next = NEVER -- as many leases as this request allows
end
if q.live > 0 then next = min(next, first_score(c.E)) end
return answer_take(gated(gated(next, c.set), all))
