-- Queues URLs that are new here, or ends them if a settlement made them so.
--
-- blob: request 16 | cap of a queue 6 (0: none) | for each: number 2 | length 4 | entry (see FORMAT.md)
-- reply: a byte for each: Q queued or ended, F full, H held already (its key was lost at its home)
local ticket, cap = unpack_struct('>c16I6', blob)
local receipts = open_receipts(ticket)

-- The entries in columns: a table for each URL would cost more than the rest of the work.
local c = begin(need_crawl(crawl_name))
local keys, dues, made, tails, queue_of, numbers, priorities, how = {}, {}, {}, {}, {}, {}, {}, {}
local changes, told, added_to = {}, {}, {}
local pos, n_urls = 23, 0
while pos <= #blob do
  n_urls = n_urls + 1
  local i, number, n, key, priority, due, created, flags, m = n_urls, unpack_struct('>c2I4c16xxxxxxBI6I6BB', blob, pos)
  local name, last = sub(blob, pos + 43, pos + 42 + m), pos + 5 + n
  if flags >= 16 then
    changes[i], last, flags = sub(blob, last - CHANGE_LEN + 1, last), last - CHANGE_LEN, flags - 16
  end
  keys[i], priorities[i], queue_of[i], numbers[i], how[i] = key, priority, name, number, flags
  tails[i] = sub(blob, pos + 42, last) -- the end of a record, also
  dues[i] = (due == 0 or floor(flags / 4) % 2 == 1) and now + due or due
  made[i] = created == 0 and now or created
  pos = pos + 6 + n
end
local arrival, ROW_OF_NEW = call('HINCRBY', base .. 'S', 'arrivals', text(n_urls)) - n_urls, RECORD .. 'c0'
load_queues(c, queue_of)
local rows, names = get_rows(c, keys)

-- put puts URL i into a queue, which is written with the others.
local function put(q, i)
  local done, levels = how[i] % 4, q.added
  local row = pack(ROW_OF_NEW, priorities[i], done > 0 and 0 or dues[i], made[i], arrival + i, 0, done + 4 * q.inc, tails[i])
  if done == 0 or how[i] >= 8 then c.written[names[i]] = row end
  if done > 0 then
    count(c, q, 0, 0, 0, 2 - done, done - 1)
    if how[i] >= 8 then call('SADD', queue_key(c, 'd', q), keys[i]) end
    return
  end
  if not levels then
    levels = {}
    q.added, q.news, q.earliest = levels, 0, NEVER
    added_to[#added_to + 1] = q
  end
  local z = levels[priorities[i]]
  if not z then z = {}; levels[priorities[i]] = z end
  local m = #z
  z[m + 1], z[m + 2] = text(dues[i]), member(arrival + i, keys[i])
  q.news, q.earliest = q.news + 1, min(q.earliest, dues[i])
end

-- judge decides about URL i, of which there is a record or none.
local function judge(i, row)
  local q, key, r = need_queue(c, queue_of[i]), keys[i], row and parse_record(row)
  local is_alive = r and alive(c, r)
  if is_alive and r.done == 0 then return 'H' end
  if cap > 0 and held(q) + (q.news or 0) >= cap then return 'F' end
  if is_alive then
    made[i] = r.created
    unend(c, find_queue(c, r.queue), key, r)
  end
  if r then drop_dead(c, key) end
  put(q, i)
  if changes[i] then change_queue(c, q, changes[i]) end
  return 'Q'
end

for i = 1, #keys do
  local n, row = numbers[i], c.written[names[i]]
  if row == nil then row = rows[i] end
  told[i] = receipts.said[n] or give_receipt(receipts, n, judge(i, row))
end
for i = 1, #added_to do
  local q = added_to[i]
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
