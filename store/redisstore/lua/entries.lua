-- A page of the URLs of one queue, or of all leases of the crawl.
--
-- blob: kind 1 (q: queued; d: done or dropped; L: all leases) | most keys 4 | length of queue 1 | queue | position, empty to begin
-- reply: next position as length 1 and text (empty: no more) | for each that is of this kind still: key 16 | what found says
--
-- The position of queued URLs is that of the last one in their order (priority 1, due 6, arrival 6), so that each is listed once; that
-- of others is the cursor of a scan.
local kind, want, name, pos = unpack_struct('>c1I4Bc0', blob)
local from = sub(blob, pos)
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
if kind == 'q' then
  local p, rank = 7, 0
  if from ~= '' then p, rank = byte(from), rank_after(level_key(c, q, byte(from)), unpack_struct('>I6I6', from, 2)) end
  while p >= 0 and #keys < want do
    local got = has_level(q.levels, p) and call('ZRANGE', level_key(c, q, p), text(rank), text(rank + want - #keys - 1), 'WITHSCORES') or {}
    for i = 1, #got, 2 do keys[#keys + 1] = sub(got[i], 7) end
    if #keys == want then next = pack('>BI6', p, tonumber(got[#got])) .. sub(got[#got - 1], 1, 6) end
    p, rank = p - 1, 0
  end
elseif kind == 'd' then
  next, keys = scan('SSCAN', queue_key(c, 'd', q), from, want)
else
  local got
  next, got = scan('HSCAN', c.L, from, want)
  for i = 1, #got, 2 do keys[#keys + 1] = got[i] end
end
return short(next) .. found(c, keys, ({ q = '1', L = '2', d = '34' })[kind])
