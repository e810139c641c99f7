-- Queues URLs that are new here.
--
-- blob: request 16 | cap of a queue 6 (0: none) | for each: number 2 | length 4 | entry
-- reply: a byte for each: Q queued, F full, H held already (its key was lost at its home)
local ticket, cap = unpack_struct('>c16I6', blob)
local receipts = open_receipts(ticket)

local c = begin(need_crawl(crawl_name))
local keys, dues, made, tails, queue_of, numbers, known, names = {}, {}, {}, {}, {}, {}, {}, {}

-- read reads the entries into columns, and returns their number. An entry: key 16 | queue hash 6 |
-- priority 1 | due 6 | created 6 | length of queue 1 | queue | length of meta 4 | meta | URL.
-- What is behind the times is the end of a record, too.
local priorities = {}
local function read()
  local pos, size, i = 23, #blob, 0
  while pos <= size do
    i = i + 1
    local number, n, key, _, priority, due, created, m = unpack_struct('>c2I4c16c6BI6I6B', blob, pos)
    local name = sub(blob, pos + 42, pos + 41 + m)
    keys[i], priorities[i], queue_of[i], tails[i] = key, priority, name, sub(blob, pos + 41, pos + 5 + n)
    dues[i], made[i], numbers[i] = due == 0 and now or due, created == 0 and now or created, number
    if not known[name] then
      names[#names + 1], known[name] = name, true
    end
    pos = pos + 6 + n
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
  fields[m + 1], fields[m + 2] = keys[i], pack(ROW_OF_NEW, priority, dues[i], made[i], arrival + i, 0, 4 * q.inc, tails[i])
end

-- is_held reports whether a URL is held already. What else there is of it is taken back.
local function is_held(key, row)
  local r = parse_record(row)
  if not alive(c, r) then
    drop_dead(c, key)
  elseif r.done == 0 then
    return true
  else
    unend(c, find_queue(c, r.queue), key, r)
  end
  return false
end

-- judge decides about URL i.
local function judge(i, row)
  local q = c.queues[queue_of[i]] or make_queue(c, queue_of[i])
  if row and byte(row, 24) % 4 == 0 and is_held(keys[i], row) then return 'H' end
  if cap > 0 and held(q) + (q.news or 0) >= cap then return 'F' end
  if row then is_held(keys[i], row) end
  put(q, i)
  return 'Q'
end

local rows = fetch(c.R, keys)
for i = 1, #keys do
  told[i] = receipts.said[numbers[i]] or give_receipt(receipts, numbers[i], judge(i, rows[i]))
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
save_receipts(receipts)
return concat(told)
