-- How many queues of the shard may be worth asking, and when there may be more, without changing anything.
--
-- reply: their number 4 | with one crawl, the lowest turn of a ready queue 7 (0: it has
-- yet to be made ready) | the turn of the queue served last 7 | next 6
local crawls, n, lowest, served_turn, next = each_crawl(turns_key), 0, 0, 0, NEVER
for _, c in ipairs(crawls) do
  local v = call('HMGET', c.key, 'counts', 'settings', 'clock', 'refile', 'follow')
  local set = read_settings(v[2])
  local ready, first = 0, NEVER
  for _, key in ipairs(ready_keys(c.id)) do
    local n = call('ZCARD', key)
    if n > 0 then ready, first = ready + n, min(first, first_score(key)) end
  end
  local due = call('ZCOUNT', base .. 'W' .. c.id, '-inf', now) + call('ZCOUNT', base .. 'E' .. c.id, '-inf', now)
  if v[4] or v[5] or now + 1000 < (tonumber(v[3]) or 0) then due = due + 1 end
  n = n + ready + due
  local waits = ready + due == 0
  next = min(next, gated(waits and min(first_score(base .. 'W' .. c.id), first_end(c)) or now, set))
  if crawl_name ~= '*' then
    served_turn = unpack_struct('>I7', v[1] or NO_COUNTS, 31)
    if due == 0 and ready > 0 then lowest = first end
  end
end
next = gated(next, store_settings())
return pack('>I4I7I7I6', n, lowest, served_turn, next == NEVER and 0 or next)
