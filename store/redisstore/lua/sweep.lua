-- Deletes some of what belongs to crawls that were forgotten.
--
-- reply: Y if there is more to do
local PAGE = 500
local id = call('SRANDMEMBER', base .. 'g')
if not id then return answer('N') end
local c, doomed, left = open_seen(begin({ key = base .. 'C' .. id, id = id })), {}, PAGE

-- empty takes as many members out of a set as this step may still delete, and dooms their printed: pop returns them with so many
-- other values between. It returns whether that was all of them.
local function empty(key, pop, width)
  local got = left > 0 and call(pop, key, text(left)) or {}
  for i = 1, #got, width do doomed[#doomed + 1] = c.R .. sub(got[i], -16) end
  left = left - #got / width
  return left > 0
end

-- empty_queue does that with all sets of a queue, by its incarnation and name.
local function empty_queue(field)
  for p = 0, 7 do
    if not empty(base .. 'z' .. p .. id .. field, 'ZPOPMIN', 2) then return false end
  end
  return empty(base .. 'x' .. id .. field, 'ZPOPMIN', 2) and empty(base .. 'd' .. id .. field, 'SPOP', 1)
end

-- empty_queues goes on with the queues of a hash, and forgets those that have nothing left.
local function empty_queues(key, field_of)
  local fields, gone = call('HRANDFIELD', key, 100) or {}, {}
  for i = 1, #fields do
    if not empty_queue(field_of(fields[i])) then break end
    gone[i] = fields[i]
  end
  many('HDEL', key, gone)
  return #fields == 0
end

local t = c.keys
for b = max(0, t.buckets - PAGE), t.buckets - 1 do doomed[#doomed + 1] = bucket_key(t, b) end
local more = t.buckets > PAGE
t.n, t.buckets, t.changed = 0, max(1, t.buckets - PAGE), more
local leased = call('HRANDFIELD', c.L, left) or {}
for i = 1, #leased do doomed[#doomed + 1] = c.R .. leased[i] end
many('HDEL', c.L, leased)
local groups = call('HRANDFIELD', c.K, PAGE) or {}
for i = 1, #groups do doomed[#doomed + 1] = base .. 'k' .. id .. groups[i] end
many('HDEL', c.K, groups)
local marked = call('HRANDFIELD', base .. 'v' .. id, PAGE) or {}
for i = 1, #marked do unmark(c, marked[i]) end
left = left - #leased
local is_empty = empty_queues(base .. 'G' .. id, function(field) return field end)
is_empty = empty_queues(c.Q, function(name) return char(find_queue(c, name).inc) .. name end) and is_empty
call('UNLINK', unpack(doomed))
save_seen(c)
if not more and is_empty and #leased + #marked + #groups == 0 then
  for _, t in ipairs({ 'Q', 'L', 'O', 'E', 'W', 'X', 'U', 'o', 'p' }) do call('UNLINK', base .. t .. id) end
  call('UNLINK', unpack(ready_keys(id)))
  call('DEL', c.key)
  call('SREM', base .. 'g', id)
end
return answer('Y')
