-- Changes settings of a queue, a crawl or the store in this shard.
--
-- blob: must exist 1 | change 39 | change of a crawl 17, see settings.lua | length 1 | queue | nothing, or length 1 | group (empty: none)
-- reply: Y, or N if it must exist and doesn't
local must, ch, name, pos = byte(blob, 1) == 1, sub(blob, 2, 1 + CHANGE_LEN + CRAWL_CHANGE_LEN), unpack_struct('>Bc0', blob, 2 + CHANGE_LEN + CRAWL_CHANGE_LEN)

local c = find_crawl(crawl_name)
if name == '' then
  local key = base .. 'S'
  if crawl_name ~= '*' then
    c = c or need_crawl(crawl_name)
    key = c.key
  end
  local set = change_crawl(read_crawl_settings(call('HGET', key, 'settings')), ch)
  if set then
    call('HSET', key, 'settings', set)
  else
    call('HDEL', key, 'settings')
  end
  -- Delay, bound and queue limit may change where queues belong. That is decided for some of them at a time (advance.lua);
  -- pauses, blocks, weights and the limit of the crawl are read at a take.
  if byte(ch) % 4 > 0 or byte(ch, CHANGE_LEN + 1) % 2 == 1 then
    for _, each in ipairs(each_crawl(crawls_key)) do call('HSET', each.key, 'refile', '') end
  end
  return answer('Y')
end

local q = c and find_queue(begin(c), name)
if must and not (q and used(q) > 0) then return answer('N') end
if not q then
  c = begin(need_crawl(crawl_name))
  q = need_queue(c, name)
end
change_queue(c, q, ch)
if pos <= #blob then group.move(c, q, sub(blob, pos + 1)) end
file_queues(c)
save_counts(c)
return answer('Y')
