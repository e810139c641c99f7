-- Marks keys that have no mark, or takes marks away. A shard keeps so many marks of all crawls, and evicts the oldest.
--
-- blob: what 1 (M: mark; U: unmark) | shards 2 | for each: key 16 | spelling 4
-- reply: a byte for each: Y it is marked now, N it had a mark, or is to have none
local MOST_MARKS = 100000
local what, shards = unpack_struct('>c1I2', blob)
local c, out = find_crawl(crawl_name), {} -- a shard without the crawl has no key to mark
for pos = 4, #blob, 20 do
  local key, spelling = unpack_struct('>c16c4', blob, pos)
  local told = 'N'
  if c and what == 'U' then
    unmark(c, key)
  elseif c and call('HSETNX', marks_of(c), key, spelling) == 1 then
    told = 'Y'
    call('ZADD', marks_by_age, text(call('HINCRBY', base .. 'S', 'marks', 1)), c.id .. key)
    while call('ZCARD', marks_by_age) > max(1, floor(MOST_MARKS / shards)) do
      local oldest = call('ZPOPMIN', marks_by_age)[1]
      call('HDEL', base .. 'v' .. sub(oldest, 1, 4), sub(oldest, 5))
      call('HINCRBY', base .. 'S', 'evicted', 1)
    end
  end
  out[#out + 1] = told
end
return answer(concat(out))
