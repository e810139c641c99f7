-- Deletes some of what belongs to crawls that were forgotten.
--
-- reply: Y if there is more to do
local id = call('SRANDMEMBER', base .. 'g')
if not id then return answer('N') end
local key = base .. 'C' .. id
local buckets = tonumber(call('HGET', key, 'buckets')) or 1
local doomed = {}
for b = max(0, buckets - 500), buckets - 1 do doomed[#doomed + 1] = base .. 'h' .. id .. pack('>I4', b) end
local names = call('HRANDFIELD', base .. 'Q' .. id, 100) or {}
local fields = call('HRANDFIELD', base .. 'G' .. id, 100) or {}
many('HDEL', base .. 'G' .. id, fields)
local c = begin({ key = key, id = id })
load_queues(c, names)
for i = 1, #names do fields[#fields + 1] = string.char(c.queues[names[i]].inc) .. names[i] end
for i = 1, #fields do
  for p = 0, 7 do doomed[#doomed + 1] = base .. 'z' .. p .. id .. fields[i] end
  doomed[#doomed + 1] = base .. 'x' .. id .. fields[i]
  doomed[#doomed + 1] = base .. 'd' .. id .. fields[i]
end
call('UNLINK', unpack(doomed))
many('HDEL', base .. 'Q' .. id, names)
call('HSET', key, 'buckets', max(1, buckets - 500))
if buckets <= 500 and #fields == 0 then
  for _, t in ipairs({ 'Q', 'R', 'L', 'E', 'W', 'Y', 'y', 'o', 'p' }) do call('UNLINK', base .. t .. id) end
  call('DEL', key)
  call('SREM', base .. 'g', id)
end
return answer('Y')
