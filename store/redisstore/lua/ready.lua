-- How many queues of the shard may be worth asking, without changing anything.
--
-- reply: 4 bytes
local names, n = { crawl_name }, 0
if crawl_name == '*' then names = call('ZRANGE', turns_key, 0, -1) end
for i = 1, #names do
  local c = find_crawl(names[i])
  if c then
    n = n + call('ZCARD', base .. 'Y' .. c.id) + call('ZCARD', base .. 'y' .. c.id) +
      call('ZCOUNT', base .. 'W' .. c.id, '-inf', now) + call('ZCOUNT', base .. 'E' .. c.id, '-inf', now)
  end
end
return pack('>I4', n)
