-- A page of the URLs of one queue, or of all leases of the crawl.
--
-- blob: kind 1 (a digit: queued of that priority; d: done or dropped; L: all leases) |
--       most keys 4 | length of queue 1 | queue | position, empty to begin
-- reply: next position as length 1 and text (empty: no more) | for each: key 16 | what found says
--
-- The position of queued URLs is that of the last one in their order (due 6, arrival 6), so that each is listed once; that of
-- others is the cursor of a scan.
local kind, want, n = unpack_struct('>c1I4B', blob)
local name, from = sub(blob, 7, 6 + n), sub(blob, 7 + n)
local c = find_crawl(crawl_name)
if not c then return '\0' end
local q = find_queue(begin(c), name)
if not q and kind ~= 'L' then return '\0' end

-- rank_after returns the rank of the first URL after a place. Those due at one time are ordered by arrival.
local function rank_after(key, due, arrival)
  local low, high = call('ZCOUNT', key, '-inf', '(' .. text(due)), call('ZCOUNT', key, '-inf', text(due))
  while low < high do
    local middle = floor((low + high) / 2)
    if unpack_struct('>I6', call('ZRANGE', key, text(middle), text(middle))[1]) <= arrival then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local next, keys = '', {}
if tonumber(kind) then
  local key = level_key(c, q, kind)
  local rank = from == '' and 0 or rank_after(key, unpack_struct('>I6I6', from))
  local got = call('ZRANGE', key, text(rank), text(rank + want - 1), 'WITHSCORES')
  for i = 1, #got, 2 do keys[#keys + 1] = sub(got[i], 7) end
  if #keys == want then next = pack('>I6', tonumber(got[#got])) .. sub(got[#got - 1], 1, 6) end
elseif kind == 'd' then
  next, keys = scan('SSCAN', queue_key(c, 'd', q), from, want)
else
  local got
  next, got = scan('HSCAN', c.L, from, want)
  for i = 1, #got, 2 do keys[#keys + 1] = got[i] end
end
return short(next) .. found(c, keys, true)
