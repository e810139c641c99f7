-- Queues URLs that are new here.
--
-- blob: cap of a queue 6 (0: none) | fence 16 (zeros: none) | for each: length 4 | entry
-- reply: a byte for each: Q queued, F full, H held already
--
-- With a fence, the entries are of a request that another daemon began and did
-- not end; if it came here after all, nothing is done, and if not, it won't be let in.
local cap, fence = unpack_struct('>I6c16', blob)
local recovered = fence ~= string.rep('\0', 16)
if recovered then
  local before = call('GET', base .. 'r' .. fence)
  if before and before ~= 'fenced' then return answer('applied') end
  call('SET', base .. 'r' .. fence, 'fenced', 'PX', 10 * kept)
end

-- read returns an entry: key 16 | queue hash 6 | priority 1 | due 6 | created 6 |
-- length of queue 1 | queue | length of meta 4 | meta | URL
local function read(s)
  local key, hash, r = nil, nil, { attempts = 0, done = 0 }
  local n
  key, hash, r.priority, r.due, r.created, n = unpack_struct('>c16c6BI6I6B', s)
  r.queue, r.tail = sub(s, 37, 36 + n), sub(s, 36) -- from the length of the queue on
  if r.due == 0 then r.due = now end
  if r.created == 0 then r.created = now end
  return key, hash, r
end

local c = begin(need_crawl(crawl_name))
local list, names, seen_names = {}, {}, {}
local pos, size = 23, #blob
while pos <= size do
  local n = unpack_struct('>I4', blob, pos)
  local key, hash, r = read(sub(blob, pos + 4, pos + 3 + n))
  list[#list + 1] = { key, hash, r }
  if not seen_names[r.queue] then
    seen_names[r.queue] = true
    names[#names + 1] = r.queue
  end
  pos = pos + 4 + n
end
load_queues(c, names)
local dropped = call('EXISTS', c.D) == 1
local arrival = call('HINCRBY', base .. 'S', 'arrivals', #list) - #list
local told, rows, levels = {}, {}, {}
for i = 1, #list do
  local key, r = list[i][1], list[i][3]
  local q = need_queue(c, r.queue, list[i][2])
  if recovered and find_record(c, key) then
    told[i] = 'H'
  elseif cap > 0 and held(q) >= cap then
    told[i] = 'F'
  else
    told[i] = 'Q'
    if dropped then call('SREM', c.D, key) end
    rows[#rows + 1] = key
    rows[#rows + 1] = pack(RECORD, r.priority, r.due, r.created, arrival + i, 0, 0) .. r.tail
    local at = level_key(c, q, r.priority)
    local z = levels[at]
    if not z then z = {}; levels[at] = z end
    z[#z + 1], z[#z + 2] = r.due, member(arrival + i, key)
    if not has_level(q, r.priority) then q.levels = q.levels + 2 ^ r.priority end
    q.first = min(q.first, r.due)
    count(c, q, 1, 0, 0, 0)
  end
end
many('HSET', c.R, rows)
for at, z in pairs(levels) do many('ZADD', at, z) end
settle_queues(c)
save_counts(c)
return answer(concat(told))
