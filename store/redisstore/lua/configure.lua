-- Changes settings of a queue, a crawl or the store in this shard.
--
-- blob: must exist 1 | change 39 | queue
-- reply: Y, or N if it must exist and doesn't
local must, ch, name = byte(blob, 1) == 1, sub(blob, 2, 1 + CHANGE_LEN), sub(blob, 2 + CHANGE_LEN)

-- must_refile reports whether a change above queues may change where they belong. That is
-- decided for some of them at a time (refile.lua); pauses, blocks and weights are read at a take.
local function must_refile(change) return byte(change, 1) % 4 > 0 or floor(byte(change, 1) / 8) % 2 == 1 end

if crawl_name == '*' then
  local set = change_settings(store_settings(), ch)
  if set then
    call('HSET', base .. 'S', 'settings', write_settings(set))
  else
    call('HDEL', base .. 'S', 'settings')
  end
  if must_refile(ch) then
    local ids = call('HVALS', crawls_key)
    for i = 1, #ids do call('HSET', base .. 'C' .. pack('>I4', ids[i]), 'refile', '') end
  end
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
  if must_refile(ch) then call('HSET', c.key, 'refile', '') end
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
