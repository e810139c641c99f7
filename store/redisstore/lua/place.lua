-- Gives keys to a queue that did not have them: unknown ones, ones that were
-- never queued, and ones that leave another queue. What has to be done
-- there goes into the outbox.
--
-- blob: shards 2 | kind 1 of the outbox's entries | for each: place 4 | key 16 |
--       was 1 (as in resolve) | old queue 6 | new queue 6 | length 4 | entry
-- reply: a byte for each: Y done, N it is no longer as expected
local shards, kind = unpack_struct('>I2c1', blob)
local c = open_seen(need_crawl(crawl_name))
local told, out = {}, {}
local pos, size = 4, #blob
while pos <= size do
  local place, key, was, old, new, n = unpack_struct('>I4c16I1c6c6I4', blob, pos)
  local bucket = bucket_at(c, place)
  local value = call('HGET', bucket, key)
  local fits = (was == 0 and not value) or (was == 1 and value and #value == 2) or
    (was == 2 and value and #value == 8 and sub(value, 3) == old)
  if fits then
    call('HSET', bucket, key, (value and sub(value, 1, 2) or today()) .. new)
    if not value then add_seen(c, shards) end
    out[#out + 1] = sub(blob, pos + 33, pos + 36 + n)
  end
  told[#told + 1] = fits and 'Y' or 'N'
  pos = pos + 37 + n
end
save_seen(c)
if #out > 0 then
  call('HSET', base .. 'o', request, pack('>I6c1I1c0', now, kind, #crawl_name, crawl_name) .. concat(out))
end
return answer(concat(told))
