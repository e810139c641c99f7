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
for i = 1, #names do
  for p = 0, 7 do doomed[#doomed + 1] = base .. 'z' .. p .. id .. names[i] end
  doomed[#doomed + 1] = base .. 'x' .. id .. names[i]
  doomed[#doomed + 1] = base .. 'd' .. id .. names[i]
end
call('UNLINK', unpack(doomed))
many('HDEL', base .. 'Q' .. id, names)
call('HSET', key, 'buckets', max(1, buckets - 500))
if buckets <= 500 and #names == 0 then
  for _, t in ipairs({ 'Q', 'R', 'L', 'E', 'W', 'Y', 'y', 'N' }) do call('UNLINK', base .. t .. id) end
  call('DEL', key)
  call('SREM', base .. 'g', id)
end
return answer('Y')
