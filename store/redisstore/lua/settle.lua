-- Ends leases, and reschedules or completes URLs, in order.
--
-- blob: keep 1 ("k": the text of URLs completed or dropped is kept) | for each: length 4 | settlement: key 16 | token 6 | flags 2 (the state that it is for in the highest bits, 0: any) |
--       outcome 1 | due 6 (from now on, with the flag after; completed or dropped: when it ended, 0: now) | priority 1 | change 39 if flagged | length of meta 4 | meta | URL
-- reply: a byte for each, as judge answers
local ENTRY = '>c16I6I2BI6B'
local COMPLETE, REQUEUE, DROP, EXTEND = 0, 1, 2, 3
local FLAGS = { 'create', 'new_round', 'url_set', 'meta_set', 'priority_set', 'change_set', 'after', 'may_be_late', 'counts' }

local function parse_settlement(s)
  local e, flags, pos = {}, nil, nil
  e.key, e.token, flags, e.outcome, e.due, e.priority, pos = unpack_struct(ENTRY, s)
  for i = 1, #FLAGS do e[FLAGS[i]] = floor(flags / 2 ^ (i - 1)) % 2 == 1 end
  e.only = floor(flags / 2 ^ #FLAGS)
  if e.after then e.due = now + e.due end
  if e.change_set then e.change, pos = sub(s, pos, pos + CHANGE_LEN - 1), pos + CHANGE_LEN end
  e.meta, pos = unpack_struct('>I4c0', s, pos)
  e.url = sub(s, pos)
  return e
end

local keep, list, keys, told, pos = sub(blob, 1, 1) == 'k', {}, {}, {}, 2
while pos <= #blob do
  local s, next = unpack_struct('>I4c0', blob, pos)
  local e = parse_settlement(s)
  list[#list + 1], keys[#keys + 1], pos = e, e.key, next
end
local c = find_crawl(crawl_name)
if not c then
  for i = 1, #list do told[i] = list[i].token ~= 0 and 'T' or 'U' end
  return answer(concat(told))
end
begin(c)
load_held(c, keys)
load_over(c, keys)

-- judge returns what to do (apply, same or nil) and what to answer:
-- S settled, E settled, and it had ended before, R settled, and it was queued as another spelling, N settled, as it is (its text
-- was not kept), U unknown, T stale, A already done, M it has to be made by a step.
local function judge(e, r, l, keep)
  if e.token ~= 0 and not (l and l.token == e.token) then
    local o = c.overs[e.key]
    if o and o.token == e.token and o['until'] > now and alive(c, o) then
      if e.outcome == EXTEND then return nil, 'A' end -- its fetcher is still at the page
      return r and not l and r.done == 0 and r.due == o['until'] and 'resume' or 'close', 'A'
    end
    if not (e.may_be_late and r and is_earlier(r, e.token)) then return nil, 'T' end
    if r.done == 1 then return nil, 'A' end
    return 'apply', r.done > 0 and 'E' or 'S'
  end
  if e.only > 0 and e.only ~= (l and 2 or r and (r.done == 0 and 1 or 2 + r.done) or 0) then return nil, 'T' end
  if r and (l or r.done == 0) then
    if not l and e.outcome == EXTEND then return nil, 'T' end
    return 'apply', e.outcome == DROP and r.respelled == 1 and 'R' or 'S'
  end
  if r then
    if e.outcome == COMPLETE and r.done == 1 then return 'same', 'S' end
    if e.outcome == COMPLETE or e.outcome == REQUEUE then return 'apply', 'E' end
    return nil, 'U'
  end
  if e.create and (keep or e.outcome == REQUEUE) then return nil, 'M' end
  return nil, (e.create or e.outcome == COMPLETE) and 'N' or 'U'
end

local function change(r, e)
  if e.url_set and not e.create then r.url = e.url end
  if e.meta_set then r.meta = e.meta end
  if e.priority_set then r.priority = e.priority end
  if e.new_round then r.attempts, r.earlier = 0, '' end
end

local function extend(q, e, r, l)
  local attempts = r.attempts
  r.attempts = l.attempts
  change(r, e)
  l.attempts, r.attempts = r.attempts, attempts
  write_record(c, e.key, r)
  unlease(c, q, e.key, l)
  l['until'], l.given, l.late = e.due == 0 and now or e.due, now, 0
  call('ZADD', c.E, l['until'], e.key)
  call('HSET', c.L, e.key, lease_row(l))
  count(c, q, 0, 1, 0, 0)
end

local function apply(e, r, l)
  local q = find_queue(c, r.queue)
  if l and e.outcome == EXTEND then
    extend(q, e, r, l)
    return q
  end
  local was = r.done > 0 and ended_at(r) or 0
  local overtakes = l and e.token ~= 0 and e.token ~= l.token and l.late == 0 and l['until'] > now
  if l then
    r.attempts = l.attempts
    if e.outcome ~= COMPLETE or e.token ~= l.token then r.earlier = passed(r.earlier, l.token) end
  elseif r.done > 0 then
    r.attempts, r.earlier = 0, ''
  end
  if e.token == 0 or r.done > 0 then close_over(c, e.key) end
  if overtakes then
    overtake(c, q, e.key, l)
  else
    take_out(c, q, e.key, r, l)
  end
  change(r, e)
  if e.counts then result(c, q, e.outcome == DROP and 0 or 1, e.outcome == DROP and 1 or 0) end
  if e.outcome == REQUEUE then
    r.due, r.done, r.arrival = e.due == 0 and now or e.due, 0, call('HINCRBY', base .. 'S', 'arrivals', 1)
    local o = c.overs[e.key] -- whose fetcher is still at the page
    if o and o['until'] > now and alive(c, o) and r.due <= o['until'] then
      r.due = o['until'] + (r.due > now and 1 or 0) -- the very end if it would be due by now, as judge sees it when the lease ends before
    end
    call('ZADD', level_key(c, q, r.priority), r.due, member(r.arrival, e.key))
    if not has_level(q.levels, r.priority) then q.levels = q.levels + 2 ^ r.priority end
    q.first = min(q.first, r.due)
    count(c, q, 1, 0, 0, 0)
    write_record(c, e.key, r)
    return q
  end
  r.due, r.done = max(was, e.due == 0 and now or min(now, e.due)), e.outcome == COMPLETE and 1 or 2
  count(c, q, 0, 0, 0, 2 - r.done, r.done - 1)
  if keep then
    call('SADD', queue_key(c, 'd', q), e.key)
    write_record(c, e.key, r)
  else
    drop_record(c, e.key)
  end
  return q
end

local function step(e)
  local r, l = c.records[e.key], c.leases[e.key]
  local todo, answered = judge(e, r, l, keep)
  if todo == 'close' then
    close_over(c, e.key)
  elseif todo then
    if todo == 'resume' then e, todo = { key = e.key, token = 0, outcome = REQUEUE, due = 0 }, 'apply' end
    if todo == 'same' and min(now, e.due) > ended_at(r) then
      r.due = min(now, e.due)
      write_record(c, e.key, r)
    end
    local q = todo == 'apply' and apply(e, r, l) or find_queue(c, r.queue)
    if e.change then change_queue(c, q, e.change) end
    q.dirty = true
  end
  return answered
end

for i = 1, #list do told[i] = step(list[i]) end
file_queues(c)
save_counts(c)
return answer(concat(told))
