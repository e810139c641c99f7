-- How many queues of the shard may be worth asking, without changing anything.
--
-- reply: their number 4 | with one crawl, the lowest turn of a ready queue 7 (0: it has
-- yet to be made ready) | the turn of the queue served last 7
local names, n, lowest, served_turn = { crawl_name }, 0, 0, 0
if crawl_name == '*' then names = call('ZRANGE', turns_key, 0, -1) end
for i = 1, #names do
  local c = find_crawl(names[i])
  if c then
    local ready = call('ZCARD', base .. 'Y' .. c.id) + call('ZCARD', base .. 'y' .. c.id)
    local due = call('ZCOUNT', base .. 'W' .. c.id, '-inf', now) + call('ZCOUNT', base .. 'E' .. c.id, '-inf', now)
    n = n + ready + due
    if crawl_name ~= '*' then
      served_turn = unpack_struct('>I7', call('HGET', c.key, 'counts') or NO_COUNTS, 31)
      if due == 0 and ready > 0 then
        local a = call('ZRANGE', base .. 'Y' .. c.id, 0, 0, 'WITHSCORES')
        local b = call('ZRANGE', base .. 'y' .. c.id, 0, 0, 'WITHSCORES')
        lowest = min(tonumber(a[2]) or NEVER, tonumber(b[2]) or NEVER)
      end
    end
  end
end
return pack('>I4I7I7', n, lowest, served_turn)
