-- A page of what a deleted queue has left. The page before it, whose keys are forgotten, is struck off first.
--
-- blob: age 6 | length 1 | name of the queue (empty: any that was deleted so many ms ago) | the last reply, empty to begin
-- reply: empty if there is nothing, or: length 1 | name | incarnation 1 | set 1 (a priority, x, d, or L: all leases;
--        G: nothing is left) | next cursor as length 1 and text | members
local c = find_crawl(crawl_name)
if not c then return '' end
begin(c)
local age, name, rest = unpack_struct('>I6Bc0', blob)
local last, yard, grave, cursor = sub(blob, rest), base .. 'G' .. c.id, nil, ''

local function grave_of(field) return { name = sub(field, 2), inc = byte(field), field = field } end

local function set_of(set) return set < ':' and level_key(c, grave, set) or queue_key(c, set, grave) end

local function left_of(keys)
  local rows, left = get_rows(c, keys), {}
  for i = 1, #keys do
    local r = rows[i] and parse_record(rows[i])
    if r and r.queue == grave.name and r.inc == grave.inc then left[#left + 1] = keys[i] end
  end
  return left
end

if last ~= '' then
  local queue, inc, set, next, pos = unpack_struct('>Bc0c1c1Bc0', last)
  local members, keys, width = {}, {}, (set == 'd' or set == 'L') and 16 or 22
  grave, cursor = grave_of(inc .. queue), next
  for i = pos, #last, width do
    members[#members + 1], keys[#keys + 1] = sub(last, i, i + width - 1), sub(last, i + width - 16, i + width - 1)
  end
  -- A key that was forgotten or moved before its page came did not need the record.
  for _, key in ipairs(left_of(keys)) do drop_deleted(c, key) end
  save_counts(c)
  if set == 'G' then
    grave = nil
  elseif set == 'L' and cursor == '' then
    call('HSET', yard, grave.field, '\0' .. sub(call('HGET', yard, grave.field) or '\0\0\0\0\0\0\0', 2))
  elseif set ~= 'L' then
    many(set == 'd' and 'SREM' or 'ZREM', set_of(set), members)
  end
end
if not grave and name == '' then
  local field = call('HRANDFIELD', yard)
  if not field or math.abs(now - unpack_struct('>I6', call('HGET', yard, field), 2)) < age then return '' end
  grave = grave_of(field)
end
for i = 0, INCARNATIONS - 1 do
  local field = char(i) .. name
  if not grave and call('HEXISTS', yard, field) == 1 then grave = grave_of(field) end
end
if not grave then return '' end

local function listed(set, next, members)
  return short(grave.name) .. char(grave.inc) .. set .. short(next) .. concat(members)
end

if cursor == '' then
  for set in string.gmatch('01234567xd', '.') do
    local got = set == 'd' and call('SRANDMEMBER', set_of(set), 1000) or call('ZRANGE', set_of(set), '0', '999')
    if #got > 0 then return listed(set, '', got) end
  end
  if byte(call('HGET', yard, grave.field) or '\0') == 0 then
    call('HDEL', yard, grave.field)
    return listed('G', '', {})
  end
end
local keys, next, got = {}, scan('HSCAN', c.L, cursor, 1000)
for i = 1, #got, 2 do keys[#keys + 1] = got[i] end
return listed('L', next, left_of(keys))
