-- Changes settings of a queue, a crawl or the store in this shard.
--
-- blob: must exist 1 | change 39 | queue
-- reply: Y, or N if it must exist and doesn't
local must, ch, name = byte(blob, 1) == 1, sub(blob, 2, 1 + CHANGE_LEN), sub(blob, 2 + CHANGE_LEN)

-- refile files anew the queues that hold something, after a change above them.
local function refile(c)
  begin(c)
  local cursor = '0'
  repeat
    local got = call('HSCAN', c.Q, cursor, 'COUNT', 1000)
    cursor = got[1]
    for i = 1, #got[2], 2 do
      local q = c.queues[got[2][i]] or keep_queue(c, parse_queue(got[2][i], got[2][i + 1]))
      if held(q) > 0 then q.dirty = true end
    end
  until cursor == '0'
  table.sort(c.order, function(a, b)
    if a.turn ~= b.turn then return a.turn < b.turn end
    return a.name < b.name
  end)
  settle_queues(c)
  save_counts(c)
end

if crawl_name == '*' then
  local set = change_settings(store_settings(), ch)
  if set then
    call('HSET', base .. 'S', 'settings', write_settings(set))
  else
    call('HDEL', base .. 'S', 'settings')
  end
  local names = call('HKEYS', crawls_key)
  for i = 1, #names do refile(find_crawl(names[i])) end
  return answer('Y')
end

local c = find_crawl(crawl_name)
if name == '' then
  c = c or need_crawl(crawl_name)
  local set = change_settings(read_settings(call('HGET', c.key, 'settings')), ch)
  if set then
    call('HSET', c.key, 'settings', write_settings(set))
  else
    call('HDEL', c.key, 'settings')
  end
  refile(c)
  return answer('Y')
end

local q = c and find_queue(begin(c), name)
if must and not (q and used(q) > 0) then return answer('N') end
if not q then
  c = begin(need_crawl(crawl_name))
  q = need_queue(c, name)
end
change_queue(c, q, ch)
settle_queues(c)
save_counts(c)
return answer('Y')
