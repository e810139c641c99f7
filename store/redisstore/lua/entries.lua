-- A page of the keys of one queue, or of all leases of the crawl.
--
-- blob: kind 1 (a digit: queued of that priority; x: late leases; d: done; L: all leases) |
--       most keys 4 | length of queue 1 | queue | where to go on, empty to begin
-- reply: where to go on as length 1 and text (empty: no more) | keys, 16 bytes each
--
-- Queued URLs go on after a place in the order (due 6, member 22), so that what stays is
-- shown once; the others go on with the cursor of a scan.
local kind, want, n = unpack_struct('>c1I4B', blob)
local name, from = sub(blob, 7, 6 + n), sub(blob, 7 + n)
local c = find_crawl(crawl_name)
if not c then return '\0' end
local q = begin(c) and find_queue(c, name)
if not q and kind ~= 'L' then return '\0' end
local function page(next, keys) return short(next) .. concat(keys) end

-- queued returns a page of queued URLs.
local function queued()
  local key, rank = level_key(c, q, kind), 0
  if from ~= '' then
    local due, last = unpack_struct('>I6', from), sub(from, 7)
    local at = call('ZRANK', key, last)
    if at and tonumber(call('ZSCORE', key, last)) == due then
      rank = at + 1
    else
      rank = call('ZCOUNT', key, '-inf', '(' .. due)
      local same = call('ZRANGEBYSCORE', key, due, due)
      for i = 1, #same do if same[i] <= last then rank = rank + 1 end end
    end
  end
  local got, keys = call('ZRANGE', key, rank, rank + want - 1, 'WITHSCORES'), {}
  for i = 1, #got, 2 do keys[#keys + 1] = sub(got[i], 7) end
  local next = ''
  if #keys == want then next = pack('>I6', tonumber(got[#got])) .. got[#got - 1] end
  return page(next, keys)
end

if tonumber(kind) then return queued() end
local cursor, keys = from == '' and '0' or from, {}
local got = nil
if kind == 'd' then
  got = call('SSCAN', queue_key(c, 'd', q), cursor, 'COUNT', want)
  keys = got[2]
else
  got = call('HSCAN', c.L, cursor, 'COUNT', want)
  for i = 1, #got[2], 2 do keys[#keys + 1] = got[2][i] end
end
return page(got[1] == '0' and '' or got[1], keys)
