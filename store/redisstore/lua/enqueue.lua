-- Queues URLs that are new here, or ends them if a settlement made them so.
--
-- blob: request 16 | cap of a queue 6 (0: none) | for each: number 2 | length 4 | entry (see FORMAT.md)
-- reply: a byte for each: Q queued or ended, F full, H held already (its key was lost at its home), or it ended again since
local ticket, cap = unpack_struct('>c16I6', blob)
local receipts = open_receipts(ticket)
local c = begin(need_crawl(crawl_name))
local plans, room, lots, placed, written = {}, {}, {}, {}, {}

-- make_plan reads what an entry has between the hash and the name of its queue. Most entries of a call share it.
local function make_plan(s)
  local priority, due, created, how = unpack_struct('>BI6I6B', s)
  local done = how % 4
  if due == 0 or floor(how / 4) % 2 == 1 then due = now + due end
  plans[s] = {
    priority = priority, due = due, due_text = text(due), done = done, kept = done == 0 or floor(how / 8) % 2 == 1, changes = floor(how / 16) % 2 == 1,
    counts = floor(how / 64) % 2, ended = how >= 128, head = pack('>BI6I6', priority + 8 * (floor(how / 32) % 2), done > 0 and min(now, due) or due, created == 0 and now or created), level = levels_of(c, priority), new = {},
  }
  return plans[s]
end

-- The entries in columns: a table for each URL would cost more than the rest of the work.
local keys, queue_of, numbers, plan_of, tails, changes, ended, told = {}, {}, {}, {}, {}, {}, {}, {}
local pos, n_urls = 23, 0
while pos <= #blob do
  local i, number, n, key, s, name = n_urls + 1, unpack_struct('>c2I4c16xxxxxxc14Bc0', blob, pos)
  local plan, last = plans[s] or make_plan(s), pos + 5 + n
  if plan.changes then
    changes[i], last = sub(blob, last - CHANGE_LEN + 1, last), last - CHANGE_LEN
  end
  if plan.ended then ended[i], last = unpack_struct('>I6', blob, last - 5), last - 6 end
  keys[i], queue_of[i], numbers[i], plan_of[i] = key, name, number, plan
  tails[i] = sub(blob, pos + 42, last) -- the end of a record, also
  n_urls, pos = i, pos + 6 + n
end
local arrival = call('HINCRBY', base .. 'S', 'arrivals', text(n_urls)) - n_urls
local queue_rows, rows, names = read_queues(c, queue_of), get_rows(c, keys)
load_over(c, keys)

local function need(name) return need_queue(c, name, queue_rows[name]) end

-- judge decides about URL i, of which there is a record or none. What a queue gets at one priority is a lot, written at the end.
local function judge(i, row)
  local key, name, plan, r = keys[i], queue_of[i], plan_of[i], row and parse_record(row)
  local is_alive = r and (c.written[names[i]] or alive(c, r))
  if is_alive and (r.done == 0 or ended[i] and ended_at(r) >= ended[i]) then return 'H' end
  if cap > 0 then
    room[name] = room[name] or cap - held(parse_queue(name, queue_rows[name] or NEW_QUEUE))
    if room[name] <= 0 then return 'F' end
    if plan.done == 0 then room[name] = room[name] - 1 end
  end
  if is_alive then unend(c, find_queue(c, r.queue), key, r) end
  if r then drop_deleted(c, key) end
  if c.overs[key] then close_over(c, key) end
  local nth, inc = pack('>I6', arrival + i), incarnation(queue_rows[name])
  local level, head = plan.level .. char(inc) .. name, is_alive and sub(plan.head, 1, 7) .. pack('>I6', r.created) or plan.head
  local lot = lots[level]
  if plan.kept then c.written[names[i]] = head .. nth .. '\0\0\0\0' .. char(plan.done + 4 * inc) .. tails[i] end
  if plan.done > 0 then
    count(c, need(name), 0, 0, 0, 2 - plan.done, plan.done - 1)
    if plan.kept then call('SADD', queue_key(c, 'd', need(name)), key) end
  elseif lot then
    local m = #lot
    lot[m + 1], lot[m + 2] = plan.due_text, nth .. key
    if plan.due < lot.plan.due then lot.plan = plan end -- that of the earliest
  else
    lots[#lots + 1], lots[level] = level, { name = name, plan = plan, plan.due_text, nth .. key }
  end
  if plan.counts > 0 then result(c, need(name), plan.done == 2 and 0 or 1, plan.done == 2 and 1 or 0) end
  if plan.changes then change_queue(c, need(name), changes[i]) end
  return 'Q'
end

for i = 1, n_urls do
  local n, row = numbers[i], c.written[names[i]]
  if row == nil then row = rows[i] end
  told[i] = receipts.said[n] or give_receipt(receipts, n, judge(i, row))
end

-- new_row returns the row of a new queue with n URLs of a plan, and notes its place. All these queues have the same.
local function new_row(name, n, plan)
  local q = plan.new[n]
  if not q then
    q = parse_queue('', NEW_QUEUE)
    q.queued, q.first, q.levels = n, plan.due, 2 ^ plan.priority
    file(c, q, {}, {})
    q.row, plan.new[n] = queue_row(q), q
  end
  append(placed, list_of(c, q, q.place), text(q.wake), name)
  c.active, c.nqueues = c.active + 1, c.nqueues + 1
  return q.row
end

for i = 1, #lots do
  local lot = lots[lots[i]]
  local name, n, plan, q = lot.name, #lot / 2, lot.plan, c.queues[lot.name]
  call('ZADD', lots[i], unpack(lot))
  local row = q == false and plan.priority < URGENT and new_row(name, n, plan)
  if q ~= false and not (q and q.dirty) then row = longer_row(queue_rows[name], n, plan.priority, plan.due) end
  if row then
    written[#written + 1], written[#written + 2] = name, row
    c.queues[name], queue_rows[name], c.held, c.dirty = nil, row, c.held + n, true
  else
    q = need(name)
    if not has_level(q.levels, plan.priority) then q.levels = q.levels + 2 ^ plan.priority end
    q.first = min(q.first, plan.due)
    count(c, q, n, 0, 0, 0)
  end
end
for key, turns in pairs(placed) do many('ZADD', key, turns) end
many('HSET', c.Q, written)
file_queues(c)
save_counts(c)
save_receipts(receipts)
return concat(told)
