-- Registers that a node lives, or that it ends, and returns the nodes that live. A build that knows fewer meanings than another
-- that was here is refused.
--
-- blob: how long it counts as alive, in ms 6 (0: it ends) | meanings of its build 2 | name
-- reply: meanings that are known 2 | for each node that lives, in order: length 1 | name
local alive, mine = unpack_struct('>I6I2', blob)
local name = sub(blob, 9)
local nodes_key, known = base .. 'N', tonumber(call('HGET', base .. 'M', 'meanings')) or 0
if mine < known and alive > 0 then return pack('>I2', known) end
if mine > known then call('HSET', base .. 'M', 'meanings', text(mine)) end
if alive > 0 then
  call('ZADD', nodes_key, now + alive, name)
else
  call('ZREM', nodes_key, name)
end
call('ZREMRANGEBYSCORE', nodes_key, '-inf', now)
local names = call('ZRANGE', nodes_key, 0, -1)
table.sort(names)
for i = 1, #names do names[i] = short(names[i]) end
return pack('>I2', max(mine, known)) .. concat(names)
