-- Forgets keys that are still as they were told.
--
-- blob: shards 2 | for each: place 4 | key 16 | was 1 | queue 6 (as in resolve)
-- reply: a byte for each: Y gone, N not
local c = find_crawl(crawl_name)
local told, gone = {}, 0
if c then open_seen(c) end
for pos = 3, #blob, 27 do
  local place, key, was, queue = unpack_struct('>I4c16I1c6', blob, pos)
  local bucket = c and bucket_at(c, place)
  local value = c and call('HGET', bucket, key)
  local fits = value and ((was == 1 and #value == 2) or (was == 2 and #value == 8 and sub(value, 3) == queue))
  if fits then
    call('HDEL', bucket, key)
    gone = gone + 1
  end
  told[#told + 1] = fits and 'Y' or 'N'
end
if gone > 0 then call('HSET', c.key, 'seen', c.seen - gone) end
return answer(concat(told))
