-- What is known of these keys, and which queue has them?
--
-- blob: care 1 (0: what is on its way counts as there) | for each key: place 4 | key 16
-- reply: for each key: 1 byte | queue hash 6
--        0 unknown, 1 never queued, 2 of that queue, 3 its step has to be finished first
local c = find_crawl(crawl_name)
local none, out, care = string.rep('\0', 6), {}, byte(blob, 1) == 1
local boxes = {}
if c then
  open_seen(c)
  for _, kind in ipairs({ 'o', 'p' }) do
    local box = base .. kind .. c.id
    if (care or kind == 'p') and call('HLEN', box) > 0 then boxes[#boxes + 1] = box end
  end
end

local function on_its_way(key)
  for i = 1, #boxes do
    if call('HEXISTS', boxes[i], key) == 1 then return true end
  end
end

for pos = 2, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local value = c and call('HGET', bucket_at(c, place), key)
  if on_its_way(key) then
    out[#out + 1] = '\3' .. none
  elseif not value then
    out[#out + 1] = '\0' .. none
  else
    out[#out + 1] = #value == 2 and '\1' .. none or '\2' .. sub(value, 3, 8)
  end
end
return answer(concat(out))
