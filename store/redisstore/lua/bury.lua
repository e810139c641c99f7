-- Strikes off a page of what a deleted queue had left, whose keys are forgotten.
--
-- blob: length 1 | name | incarnation 1 | set 1 (as in dead.lua; L: its leases are done with; G: all is) | members
local c = find_crawl(crawl_name)
if not c then return answer('') end
local n = byte(blob, 1)
local name, inc, set = sub(blob, 2, 1 + n), byte(blob, 2 + n), sub(blob, 3 + n, 3 + n)
local yard, field, members = base .. 'G' .. c.id, string.char(inc) .. name, {}
local key, width = base .. set .. c.id .. field, set == 'd' and 16 or 22
if tonumber(set) then key = base .. 'z' .. set .. c.id .. field end
if set == 'G' then
  call('HDEL', yard, field)
elseif set == 'L' then
  local value = call('HGET', yard, field)
  if value then call('HSET', yard, field, '\0' .. sub(value, 2)) end
else
  for pos = 4 + n, #blob, width do members[#members + 1] = sub(blob, pos, pos + width - 1) end
  many(set == 'd' and 'SREM' or 'ZREM', key, members)
end
return answer('')
