-- The effect of a settlement, by the state of the URL.
--
-- entry: key 16 | token 6 | flags 2 | outcome 1 | due 6 (from now on, with the flag after) | priority 1 |
-- change 39 if flagged | length of meta 4 | meta | URL
local ENTRY = '>c16I6I2BI6B'
local COMPLETE, REQUEUE, DROP, EXTEND = 0, 1, 2, 3
local FLAGS = { 'create', 'reset', 'url_set', 'meta_set', 'priority_set', 'change_set', 'after' }

local function parse_settlement(s)
  local e, flags, pos = {}, nil, nil
  e.key, e.token, flags, e.outcome, e.due, e.priority, pos = unpack_struct(ENTRY, s)
  for i = 1, #FLAGS do e[FLAGS[i]] = floor(flags / 2 ^ (i - 1)) % 2 == 1 end
  if e.after then e.due = now + e.due end
  if e.change_set then e.change, pos = sub(s, pos, pos + CHANGE_LEN - 1), pos + CHANGE_LEN end
  local m = unpack_struct('>I4', s, pos)
  e.meta, e.url = sub(s, pos + 4, pos + 3 + m), sub(s, pos + 4 + m)
  return e
end

-- judge returns what to do (apply, same or nil) and what to answer:
-- S settled, U unknown, T stale, M it has to be made by a step.
local function judge(e, r, l, keep)
  if e.token ~= 0 and not (l and l.token == e.token) then return nil, 'T' end
  if r and (l or r.done == 0) then
    if not l and e.outcome == EXTEND then return nil, 'T' end
    return 'apply', 'S'
  end
  if r then
    if e.outcome == COMPLETE and r.done == 1 then return 'same', 'S' end
    if e.outcome == COMPLETE or e.outcome == REQUEUE then return 'apply', 'S' end
    return nil, 'U'
  end
  if e.create and (keep or e.outcome == REQUEUE) then return nil, 'M' end
  return nil, (e.create or e.outcome == COMPLETE) and 'S' or 'U'
end
