-- A page of what a deleted queue has left. Nothing is changed.
--
-- blob: age 6 | length 1 | name of the queue (empty: any that was deleted so many ms ago) | cursor among leases, empty to begin
-- reply: empty if there is nothing, or: length 1 | name | incarnation 1 | set 1 (a priority, x, d, or L: all leases;
--        G: nothing is left) | next cursor as length 1 and text | members
local c = find_crawl(crawl_name)
if not c then return '' end
begin(c)
local age, n = unpack_struct('>I6B', blob)
local name, cursor, yard, inc = sub(blob, 8, 7 + n), sub(blob, 8 + n), base .. 'G' .. c.id, nil
if name == '' then
  local field = call('HRANDFIELD', yard)
  if not field or unpack_struct('>I6', call('HGET', yard, field), 2) > now - age then return '' end
  inc, name = byte(field), sub(field, 2)
else
  for i = 0, INCARNATIONS - 1 do
    if call('HEXISTS', yard, string.char(i) .. name) == 1 then inc = i end
  end
  if not inc then return '' end
end
local grave = { name = name, inc = inc }

local function listed(set, next, members)
  return short(name) .. string.char(inc) .. set .. short(next) .. concat(members)
end

if cursor == '' then
  for p = 0, 7 do
    local got = call('ZRANGE', level_key(c, grave, p), '0', '999')
    if #got > 0 then return listed(text(p), '', got) end
  end
  local got = call('ZRANGE', queue_key(c, 'x', grave), '0', '999')
  if #got > 0 then return listed('x', '', got) end
  got = call('SRANDMEMBER', queue_key(c, 'd', grave), 1000)
  if #got > 0 then return listed('d', '', got) end
  if byte(call('HGET', yard, string.char(inc) .. name)) == 0 then return listed('G', '', {}) end
end
local keys, dead = {}, {}
local next, got = scan('HSCAN', c.L, cursor, 1000)
for i = 1, #got, 2 do keys[#keys + 1] = got[i] end
local rows = get_rows(c, keys)
for i = 1, #keys do
  local r = rows[i] and parse_record(rows[i])
  if r and r.queue == name and r.inc == inc then dead[#dead + 1] = keys[i] end
end
return listed('L', next, dead)
