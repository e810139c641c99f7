-- Marks of a crawl's keys, at their home: the URL of the key was dropped, since it was not found as it was spelled first. The next
-- spelling that is offered is queued, and the mark goes. A shard keeps so many marks of all crawls, and evicts the oldest.
local MOST_MARKS, marks_by_age = 100000, base .. 'v'

local function marks_of(c) return base .. 'v' .. c.id end

local function unmark(c, key)
  if call('HDEL', marks_of(c), key) == 1 then call('ZREM', marks_by_age, c.id .. key) end
end

local function set_mark(c, key, spelling, shards)
  call('HSET', marks_of(c), key, spelling)
  call('ZADD', marks_by_age, text(call('HINCRBY', base .. 'S', 'marks', 1)), c.id .. key)
  while call('ZCARD', marks_by_age) > max(1, floor(MOST_MARKS / shards)) do
    local oldest = call('ZPOPMIN', marks_by_age)[1]
    call('HDEL', base .. 'v' .. sub(oldest, 1, 4), sub(oldest, 5))
    call('HINCRBY', base .. 'S', 'evicted', 1)
  end
end
