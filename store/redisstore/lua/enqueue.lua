-- Queues URLs that are new here.
--
-- blob: cap of a queue 6 (0: none) | fence 16 (zeros: none) | for each: length 4 | entry
-- reply: a byte for each: Q queued, F full, H held already
--
-- Held already is a URL that two add at once who found it not held, or whose key was lost at its home.
-- With a fence, the entries are of a request that another daemon began and did
-- not end; if it came here after all, nothing is done, and if not, it won't be let in.
local cap, fence = unpack_struct('>I6c16', blob)
local recovered = fence ~= string.rep('\0', 16)
if recovered then
  local before = call('GET', base .. 'r' .. fence)
  if before and before ~= 'fenced' then return answer('applied') end
  call('SET', base .. 'r' .. fence, 'fenced', 'PX', kept)
end

local c = begin(need_crawl(crawl_name))
local keys, dues, made, tails, queue_of, hashes, names = {}, {}, {}, {}, {}, {}, {}

-- read reads the entries into columns, and returns their number. An entry: key 16 | queue hash 6 |
-- priority 1 | due 6 | created 6 | length of queue 1 | queue | length of meta 4 | meta | URL.
-- What is behind the times is the end of a record, too.
local priorities = {}
local function read()
  local pos, size, i = 23, #blob, 0
  while pos <= size do
    i = i + 1
    local n, key, hash, priority, due, created, m = unpack_struct('>I4c16c6BI6I6B', blob, pos)
    local name = sub(blob, pos + 40, pos + 39 + m)
    keys[i], priorities[i], queue_of[i], tails[i] = key, priority, name, sub(blob, pos + 39, pos + 3 + n)
    dues[i], made[i] = due == 0 and now or due, created == 0 and now or created
    if not hashes[name] then
      names[#names + 1] = name
      hashes[name] = hash
    end
    pos = pos + 4 + n
  end
  return i
end

local n_urls = read()
local arrival = call('HINCRBY', base .. 'S', 'arrivals', text(n_urls)) - n_urls
load_queues(c, names)
local told, fields, added, ROW_OF_NEW = {}, {}, {}, RECORD .. 'c0'

-- put puts URL i into a queue, to be written with the others.
local function put(q, i)
  local priority = priorities[i]
  local levels = q.added
  if not levels then
    levels = {}
    q.added, q.news, q.earliest = levels, 0, NEVER
    added[#added + 1] = q
  end
  local z = levels[priority]
  if not z then z = {}; levels[priority] = z end
  local m = #z
  z[m + 1], z[m + 2] = text(dues[i]), member(arrival + i, keys[i])
  q.news, q.earliest = q.news + 1, min(q.earliest, dues[i])
  m = #fields
  fields[m + 1], fields[m + 2] = keys[i], pack(ROW_OF_NEW, priority, dues[i], made[i], arrival + i, 0, 0, tails[i])
end

-- again takes back that a URL was completed or dropped, which is to be queued again.
local function again(key, row)
  local r = parse_record(row)
  unend(c, find_queue(c, r.queue), key, r)
end

local rows = fetch(c.R, keys)
for i = 1, #keys do
  local name = queue_of[i]
  local q = c.queues[name] or make_queue(c, name, hashes[name])
  local row = rows[i]
  if row and (recovered or byte(row, 24) == 0) then
    told[i] = 'H'
  elseif cap > 0 and held(q) + (q.news or 0) >= cap then
    told[i] = 'F'
  else
    told[i] = 'Q'
    if row then again(keys[i], row) end
    put(q, i)
  end
end
many('HSET', c.R, fields)
for i = 1, #added do
  local q = added[i]
  local first = min(q.first, q.earliest)
  for priority, z in pairs(q.added) do
    many('ZADD', level_key(c, q, priority), z)
    if not has_level(q, priority) then q.levels = q.levels + 2 ^ priority end
  end
  -- Where a queue belongs depends on its first URL alone, as far as URLs go.
  local stays = first == q.first and not q.dirty
  count(c, q, q.news, 0, 0, 0)
  q.first, q.stays = first, stays
end
settle_queues(c)
save_counts(c)
return answer(concat(told))
