-- Marks of a crawl's keys, at their home: the URL of the key was dropped, since it was not found as it was spelled first. The next
-- spelling that is offered is queued, and the mark goes.
local marks_by_age = base .. 'v'

local function marks_of(c) return base .. 'v' .. c.id end

local function unmark(c, key)
  if call('HDEL', marks_of(c), key) == 1 then call('ZREM', marks_by_age, c.id .. key) end
end
