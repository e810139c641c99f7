-- Which of these keys are new? They are recorded.
--
-- blob: shards 2 | for each key: place 4 | key 16
-- reply: a byte for each key: N new, D duplicate, P its step has to be finished first
local shards = unpack_struct('>I2', blob)
local c = open_seen(need_crawl(crawl_name))
local told, day, busy = {}, today(), base .. 'p' .. c.id
local undecided = call('HLEN', busy) > 0
for pos = 3, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local status = 'D'
  if call('HSETNX', bucket_at(c, place), key, day) == 1 then
    status = 'N'
    add_seen(c, shards)
  elseif undecided and call('HEXISTS', busy, key) == 1 then
    status = 'P'
  end
  told[#told + 1] = status
end
save_seen(c)
return answer(concat(told))
