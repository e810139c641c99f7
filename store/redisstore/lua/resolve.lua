-- What is known of these keys, and which queue has them?
--
-- blob: care 1 (0: what is on its way counts as there) | for each key: place 4 | key 16
-- reply: for each key: 1 byte | queue hash 6
--        0 unknown, 1 never queued, 2 of that queue, 3 on its way: ask again
local c = find_crawl(crawl_name)
if c then open_seen(c) end
local none, moving = string.rep('\0', 6), nil
local out, care = {}, byte(blob, 1) == 1

-- on_its_way reports whether a key waits in the outbox to be queued.
local function on_its_way(key)
  moving = moving or call('HVALS', base .. 'o')
  for i = 1, #moving do
    if string.find(moving[i], key, 1, true) then return true end
  end
  return false
end

for pos = 2, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local value = c and call('HGET', bucket_at(c, place), key)
  if not value then
    out[#out + 1] = '\0' .. none
  elseif #value == 2 then
    out[#out + 1] = '\1' .. none
  elseif #value == 9 or (care and on_its_way(key)) then
    out[#out + 1] = '\3' .. none
  else
    out[#out + 1] = '\2' .. sub(value, 3, 8)
  end
end
return answer(concat(out))
