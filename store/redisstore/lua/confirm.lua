-- The queue has spoken: pending keys are kept, or taken back as never recorded.
--
-- blob: shards 2 | request 16 that is done | for each key: place 4 | key 16 | keep 1
-- reply: empty
local shards, done = unpack_struct('>I2c16', blob)
local c = find_crawl(crawl_name)
call('HDEL', base .. 'o', done)
if not c then return answer('') end
open_seen(c)
local gone, settled = 0, 0
for pos = 19, #blob, 21 do
  local place, key, keep = unpack_struct('>I4c16I1', blob, pos)
  local bucket = bucket_at(c, place)
  local value = call('HGET', bucket, key)
  if value and #value == 9 then
    settled = settled + 1
    if keep == 1 then
      call('HSET', bucket, key, sub(value, 1, 8))
    else
      gone = gone + 1
      call('HDEL', bucket, key)
    end
  end
end
call('HSET', c.key, 'pending', c.pending - settled, 'seen', c.seen - gone)
return answer('')
