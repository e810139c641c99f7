-- Forgets that keys were let go, once the seen side has forgotten or moved them.
--
-- blob: for each: key 16
local c = find_crawl(crawl_name)
if c then
  local keys = {}
  for pos = 1, #blob, 16 do keys[#keys + 1] = sub(blob, pos, pos + 15) end
  many('SREM', base .. 'D' .. c.id, keys)
end
return answer('')
