-- Where a queue belongs: waiting for its time, ready for its turn, or nowhere. It
-- is decided once for each queue that changed, when the script ends.

-- rebase counts again from now the times that were counted from a time in the future: the clock was ahead then.
local function rebase(q)
  if q.last > now then q.last, q.dirty = now, true end
  if q.before_at > now then q.before, q.before_at, q.dirty = now + max(0, q.before - q.before_at), now, true end
end

local function change_queue(c, q, change)
  rebase(q)
  local before = q.before
  q.set = q.set or read_settings(NO_SETTINGS)
  q.before = apply_change(q.set, change, q.before)
  if write_settings(q.set) == NO_SETTINGS then q.set = nil end
  if q.before ~= before then q.before_at = now end
  q.dirty, c.dirty = true, true
end

-- delayed is when the delay after the last take of a queue is over.
local function delayed(c, q)
  rebase(q)
  if q.last == 0 then return 0 end
  local delay = setting(c, q, 'delay')
  if delay < 0 then delay = 0 elseif delay == 0 then delay = q.delay end
  return q.last + delay
end

-- polite is the time before which the delay allows no take.
local function polite(c, q) return max(delayed(c, q), q.before) end

-- gate is when the delay of a group is over.
function group.gate(c, g)
  local by = find_queue(c, g.by)
  if by and by.last > now then c.touched[g] = true end -- and it is written, though it may hold nothing
  return by and delayed(c, by) or 0
end

-- recall tells the group of a queue of its last take, unless another was served later. Within a millisecond the name decides.
function group.recall(c, q)
  local g = group.of(c, q)
  local by = find_queue(c, g.by)
  if by then rebase(by) end
  if q.last > 0 and (not by or q.last > by.last or q.last == by.last and q.name > by.name) then g.by = q.name end
  if g.front == q.name then g.front = '' end
  g.changed = true
  return g
end

-- move moves a queue to another group, '' for none.
function group.move(c, q, name)
  local g = group.of(c, q)
  if name == (g and q.set.group or '') then return end
  if g then
    if g.front == q.name then g.front = '' end
    if q.place == LINE then
      call('ZREM', g.line, q.name)
      q.place = 0
    end
    group.count(c, q, -running(q))
    g.changed, c.touched[g] = true, true
  end
  q.set = q.set or read_settings(NO_SETTINGS)
  q.set.group = name ~= '' and name or nil
  if q.set.group then
    group.count(c, q, running(q))
    group.recall(c, q)
  elseif write_settings(q.set) == NO_SETTINGS then
    q.set = nil
  end
end

-- find_first looks up when the first queued URL is due, if that is in doubt.
local function find_first(c, q)
  if not q.doubt then return end
  q.doubt, q.first = nil, NEVER
  for p = 0, q.levels > 1 and 7 or 0 do
    if has_level(q.levels, p) then
      local first = first_score(level_key(c, q, p))
      if first == NEVER then q.levels = q.levels - 2 ^ p end
      q.first = min(q.first, first)
    end
  end
end

-- serves is when the queue may be served by its delay and its URLs.
local function serves(c, q, late)
  find_first(c, q)
  local first = min(q.first, late)
  if first == NEVER then return NEVER end
  return max(polite(c, q), first)
end

local HOLDS = { 'paused', 'limited', 'blocked' } -- numbers of queues, in the counts of a crawl

-- room is how many URLs may be leased before a limit is reached, of which pages that were fetched and leases reserve their part. At 0, leases that ran
-- out may be given again; below, so many fewer of them.
local function room(limit, fetched, leased) return limit > 0 and limit - fetched - leased or NEVER end
local function queue_room(c, q) return room(setting(c, q, 'limit'), q.fetched, q.live + q.late) end

local function crawl_limit(c)
  if c.set and c.set.limit ~= 0 then return c.set.limit end
  local all = store_settings()
  return all and all.limit or 0
end

-- opens is when the queue may be served by all that time alone changes, and what holds it back until then.
local function opens(c, q)
  if held(q) == 0 then return NEVER, FREE end
  if q.set and q.set.paused == 1 then return NEVER, PAUSED end
  local left, bound = queue_room(c, q), setting(c, q, 'inflight')
  if left + q.late <= 0 then return NEVER, LIMITED end
  if bound > 0 and running(q) >= bound then return NEVER, FREE end
  local t = left <= 0 and polite(c, q) or serves(c, q, q.late > 0 and 0 or NEVER)
  if t < NEVER and q.set and q.set.blocked > max(t, now) then return q.set.blocked, BLOCKED end
  return t, FREE
end

-- passes is opens, and what the group of the queue allows.
local function passes(c, q)
  local t, hold = opens(c, q)
  local g = group.of(c, q)
  if not g or t == NEVER then return t, hold end
  local bound = setting(c, q, 'inflight')
  if bound > 0 and g.running >= bound then return NEVER, FREE end
  return max(t, group.gate(c, g)), hold
end

-- list_of is the key of a queue's place: 1 waits, 2 is ready, 2 + n is ready and has n leases, LINE waits for its turn in the group.
local function list_of(c, q, place)
  if place == LINE then return group.of(c, q).line end
  return place == 1 and c.W or c.ready[place - 1]
end

local function is_ready(q) return q.place >= 2 and q.place ~= LINE end

local function append(lists, key, a, b)
  local list = lists[key] or {}
  lists[key], list[#list + 1], list[#list + 2] = list, a, b
end

-- urgent reports whether a queue has an urgent URL that is due.
function group.urgent(c, q) return has_level(q.levels, URGENT) and first_score(level_key(c, q, URGENT)) <= now end

-- lead chooses fronts for the groups that changed, and has the fronts filed again. It returns whether there are any. None gives twice in a row, or
-- to one request, while another can, and of two one is not urgent. A front that is not makes way for one that has become so.
function group.lead(c)
  local any = false
  for g in pairs(c.touched) do
    c.touched[g] = nil
    local was = g.hasty and g.hurried == 0 and g.front ~= '' and find_queue(c, g.front)
    if was and not group.urgent(c, was) then was.dirty, g.front = true, '' end
    g.hasty = nil
    if g.front == '' then
      local names = call('ZRANGEBYSCORE', g.line, text(g.hurried), '+inf', 'LIMIT', '0', '16')
      if not names[1] then names = call('ZRANGE', g.line, '0', '15') end
      for i = #names, 1, -1 do
        if not (c.gave and c.gave[names[i]]) and (names[i] ~= g.by or g.front == '') then g.front = names[i] end
      end
      if g.front == '' then g.front = names[1] or '' end
      g.changed = true
    end
    local q = find_queue(c, g.front)
    if q then q.dirty, any = true, true end
  end
  return any
end

-- file says where a queue goes, to be written by save.
local function file(c, q, add, remove)
  local place, score, was, t, hold = 0, 0, q.place, opens(c, q)
  if hold ~= q.hold then
    local from, to = HOLDS[q.hold], HOLDS[hold]
    if from then c[from] = c[from] - 1 end
    if to then c[to] = c[to] + 1 end
    q.hold, c.dirty = hold, true
  end
  local g = group.of(c, q)
  if g and g.front == q.name and (t <= now or c.rounds == group.ROUNDS and t < NEVER) then
    t = max(t, (passes(c, q)))
  elseif g then
    c.touched[g] = true -- what holds the front may have changed
    if g.front == q.name then g.front, g.changed = '', true end
  end
  if g and t <= now and g.front ~= q.name then
    if q.turn < c.turn then q.turn = c.turn end
    local urgent = group.urgent(c, q)
    g.hasty = g.hasty or urgent and q.name ~= g.by -- which would not be chosen
    place, score = LINE, urgent and 0 or max(1, q.turn)
  elseif t < NEVER and t > now then
    place, score = 1, t
  elseif t < NEVER then
    place = 2 + (setting(c, q, 'inflight') == 0 and min(fetchers(c, q), LANES) or 0)
    -- A queue that was away does not catch up on the turns it missed.
    if q.turn < c.turn then q.turn = c.turn end
    score = q.turn
  end
  if was ~= place and was > 0 then append(remove, list_of(c, q, was), q.name) end
  if place > 0 and not (was == place and q.wake == score) then append(add, list_of(c, q, place), text(score), q.name) end
  q.place, q.wake = place, score
end

-- hurry says whether a queue is among the urgent ones, which go before their turns: those that are ready, and have a URL of that priority.
-- They are in order of when it came due, or of when they were served last, so that they take turns.
local function hurry(c, q, urgent, calm)
  local due = is_ready(q) and has_level(q.levels, URGENT) and first_score(level_key(c, q, URGENT)) or NEVER
  if due < NEVER then
    urgent[#urgent + 1], urgent[#urgent + 2] = text(max(due, q.last)), q.name
  elseif q.urgent then
    calm[#calm + 1] = q.name
  end
  q.urgent = due < NEVER
end

-- file_changed files the queues that changed, and appends their rows.
local function file_changed(c, rows)
  local add, remove, late, early, urgent, calm = {}, {}, {}, {}, {}, {}
  for i = 1, #c.order do
    local q = c.order[i]
    if q.dirty then
      find_first(c, q)
      file(c, q, add, remove)
      hurry(c, q, urgent, calm)
      if q.listed ~= (q.late > 0) then
        q.listed = q.late > 0
        local list = q.listed and late or early
        list[#list + 1] = q.name
      end
      rows[#rows + 1], rows[#rows + 2] = q.name, queue_row(q)
      q.dirty = nil
    end
  end
  for key, names in pairs(remove) do many('ZREM', key, names) end
  for key, turns in pairs(add) do many('ZADD', key, turns) end
  many('SADD', c.X, late)
  many('SREM', c.X, early)
  many('ZADD', c.U, urgent)
  many('ZREM', c.U, calm)
  if urgent[1] and not c.urgent then
    c.urgent = '0'
    call('HSET', c.key, 'urgent', c.urgent)
  end
end

-- file_queues files the queues that changed, then the fronts of their groups, and writes them. A front that can't be served
-- after all, since settings of the crawl changed, makes way for the next; the last one waits for what holds it.
local function file_queues(c)
  local rows = {}
  for n = 1, group.ROUNDS do
    c.rounds = n
    file_changed(c, rows)
    if not next(c.touched) or not group.lead(c) then break end
  end
  many('HSET', c.Q, rows)
  group.save(c)
end

-- page moves a cursor of the crawl through a hash by about n fields: visit gets the name and value of each. It
-- returns whether there are more.
local function page(c, cursor, key, n, visit)
  if not c[cursor] then return false end
  local next, got = scan('HSCAN', key, c[cursor], n)
  for i = 1, #got, 2 do visit(got[i], got[i + 1]) end
  c[cursor] = next ~= '' and next
  if c[cursor] then
    call('HSET', c.key, cursor, c[cursor])
  else
    call('HDEL', c.key, cursor)
  end
  return c[cursor]
end

local function save_counts(c)
  if not c.dirty then return end
  c.dirty = nil
  save_rows(c)
  many('HDEL', c.L, c.ended)
  many('ZREM', c.E, c.ended) -- those that are a list of their own
  if c.ran > 0 and c.leased + c.over == c.late then call('UNLINK', c.E) end -- no lease runs any more
  -- Only crawls that hold something take turns.
  if c.had > 0 and c.held == 0 then
    call('ZREM', turns_key, c.name)
  elseif c.had == 0 and c.held > 0 then
    local last = call('ZREVRANGE', turns_key, 0, 0, 'WITHSCORES')
    call('ZADD', turns_key, (tonumber(last[2]) or 0) + 1, c.name)
  end
  c.had, c.ran = c.held, c.leased - c.late + c.over
  c.clock = max(c.clock, now)
  call('HSET', c.key, 'clock', text(c.clock), 'counts', pack(COUNTS, c.held, c.leased, c.done, c.nqueues, c.active, c.turn, c.late, c.fetched, c.failed,
    c.over, c.paused, c.limited, c.blocked))
end
