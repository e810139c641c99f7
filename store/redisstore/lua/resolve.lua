-- What is known of these keys, and which queue has them?
--
-- blob: for each key: place 4 | key 16
-- reply: for each key: 1 byte | queue hash 6
--        0 unknown, 1 never queued, 2 of that queue, 3 its step has to be finished first: length 4 | step
local c, none, out, boxes = find_crawl(crawl_name), string.rep('\0', 6), {}, {}
if c then
  open_seen(c)
  for _, kind in ipairs({ 'A', 'P' }) do
    local box = outbox(c, kind)
    if call('HLEN', box) > 0 then boxes[#boxes + 1] = box end
  end
end

local function step_of(key)
  for i = 1, #boxes do
    local row = call('HGET', boxes[i], key)
    if row then return row end
  end
end

for pos = 1, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local value, step = c and call('HGET', bucket_at(c.keys, place), key), step_of(key)
  if step then
    out[#out + 1] = '\3' .. none .. long(step)
  elseif not value then
    out[#out + 1] = '\0' .. none
  else
    out[#out + 1] = #value == 2 and '\1' .. none or '\2' .. sub(value, 3, 8)
  end
end
return answer(concat(out))
