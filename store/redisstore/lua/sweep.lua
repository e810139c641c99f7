-- Deletes some of what belongs to crawls that were forgotten.
--
-- reply: Y if there is more to do
local id = call('SRANDMEMBER', base .. 'g')
if not id then return answer('N') end
local c, doomed = open_seen(begin({ key = base .. 'C' .. id, id = id })), {}

-- shrink dooms the last buckets of a table.
local function shrink(t)
  for b = max(0, t.buckets - 500), t.buckets - 1 do doomed[#doomed + 1] = bucket_key(t, b) end
  t.n, t.buckets, t.changed = 0, max(1, t.buckets - 500), t.buckets > 500
  return t.changed
end

local more = shrink(c.keys)
more = shrink(c.rows) or more
local names = call('HRANDFIELD', c.Q, 100) or {}
local fields = call('HRANDFIELD', base .. 'G' .. id, 100) or {}
many('HDEL', base .. 'G' .. id, fields)
load_queues(c, names)
for i = 1, #names do fields[#fields + 1] = string.char(c.queues[names[i]].inc) .. names[i] end
for i = 1, #fields do
  for p = 0, 7 do doomed[#doomed + 1] = base .. 'z' .. p .. id .. fields[i] end
  doomed[#doomed + 1] = base .. 'x' .. id .. fields[i]
  doomed[#doomed + 1] = base .. 'd' .. id .. fields[i]
end
call('UNLINK', unpack(doomed))
many('HDEL', c.Q, names)
c.dirty = true
save_seen(c)
save_counts(c)
if not more and #fields == 0 then
  for _, t in ipairs({ 'Q', 'L', 'E', 'W', 'Y', 'y', 'o', 'p' }) do call('UNLINK', base .. t .. id) end
  call('DEL', c.key)
  call('SREM', base .. 'g', id)
end
return answer('Y')
