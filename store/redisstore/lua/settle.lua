-- Ends leases, and reschedules or completes URLs, in order.
--
-- blob: keep 1 ("k": the text of URLs completed or dropped is kept) | for each: length 4 | settlement (see judge.lua)
-- reply: a byte for each, as judge answers
local keep, list, keys, told, pos = sub(blob, 1, 1) == 'k', {}, {}, {}, 2
while pos <= #blob do
  local n = unpack_struct('>I4', blob, pos)
  local e = parse_settlement(sub(blob, pos + 4, pos + 3 + n))
  list[#list + 1], keys[#keys + 1] = e, e.key
  pos = pos + 4 + n
end
local c = find_crawl(crawl_name)
if not c then
  for i = 1, #list do told[i] = list[i].token ~= 0 and 'T' or 'U' end
  return answer(concat(told))
end
begin(c)
load_held(c, keys)

-- change replaces in a record what the settlement replaces.
local function change(r, e)
  if e.url_set and not e.create then r.url = e.url end
  if e.meta_set then r.meta = e.meta end
  if e.priority_set then r.priority = e.priority end
  if e.reset then r.attempts = 0 end
end

-- outcome applies an outcome to a URL that is held no longer.
local function outcome(q, e, r)
  if e.outcome == REQUEUE then
    r.due = e.due == 0 and now or e.due
    push(c, q, e.key, r)
    write_record(c, e.key, r)
    count(c, q, 1, 0, 0, 0)
  else
    end_url(c, q, e.key, r, e.outcome == COMPLETE and 1 or 2, keep)
  end
end

-- extend moves the end of a lease under its token.
local function extend(q, e, r, l)
  local attempts = r.attempts
  r.attempts = l.attempts
  change(r, e)
  l.attempts, r.attempts = r.attempts, attempts
  write_record(c, e.key, r)
  unlease(c, q, e.key, l)
  l['until'], l.given = e.due == 0 and now or e.due, now
  run_lease(c, q, e.key, l)
end

local function apply(e, r, l)
  local q = find_queue(c, r.queue)
  if l and e.outcome == EXTEND then
    extend(q, e, r, l)
    return q
  end
  if l then
    r.attempts = l.attempts
  elseif r.done > 0 then
    r.attempts = 0
  end
  take_out(c, q, e.key, r, l)
  change(r, e)
  outcome(q, e, r)
  return q
end

-- step carries out one settlement, and returns its answer.
local function step(e)
  local r, l = find_record(c, e.key), find_lease(c, e.key)
  local todo, answered = judge(e, r, l, keep)
  if todo then
    local q = todo == 'apply' and apply(e, r, l) or find_queue(c, r.queue)
    if e.change then change_queue(c, q, e.change) end
    q.dirty = true
  end
  return answered
end

for i = 1, #list do told[i] = step(list[i]) end
settle_queues(c)
save_counts(c)
return answer(concat(told))
