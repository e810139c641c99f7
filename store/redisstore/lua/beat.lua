-- Registers that a node lives, or that it ends, and returns the nodes that live.
--
-- blob: how long it counts as alive, in ms 6 (0: it ends) | name
-- reply: for each that lives, in order: length 1 | name
local alive, name = unpack_struct('>I6', blob), sub(blob, 7)
local nodes_key = base .. 'N'
if alive > 0 then
  call('ZADD', nodes_key, now + alive, name)
else
  call('ZREM', nodes_key, name)
end
call('ZREMRANGEBYSCORE', nodes_key, '-inf', now)
local names = call('ZRANGE', nodes_key, 0, -1)
table.sort(names)
for i = 1, #names do names[i] = short(names[i]) end
return concat(names)
