-- Forgets a crawl in this shard: its number goes at once, what has the number is swept in steps.
--
-- reply: number of keys seen that went 6
local c = find_crawl(crawl_name)
if not c then return answer(pack('>I6', 0)) end
local seen = tonumber(call('HGET', c.key, 'seen')) or 0
call('HDEL', crawls_key, crawl_name)
call('ZREM', turns_key, crawl_name)
call('SADD', base .. 'g', c.id)
return answer(pack('>I6', seen))
