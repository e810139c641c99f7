-- Which of these keys are new? They are recorded.
--
-- blob: shards 2 | for each key: place 4 | key 16
-- reply: a byte for each key: N new, D duplicate, P pending by another request
local shards = unpack_struct('>I2', blob)
local c = open_seen(need_crawl(crawl_name))
local told, day = {}, today()
for pos = 3, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local bucket = bucket_at(c, place)
  local status = 'D'
  if call('HSETNX', bucket, key, day) == 1 then
    status = 'N'
    add_seen(c, shards)
  elseif c.pending > 0 and #call('HGET', bucket, key) == 9 then
    status = 'P'
  end
  told[#told + 1] = status
end
save_seen(c)
return answer(concat(told))
