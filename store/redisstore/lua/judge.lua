-- What a settlement comes to, by what is known of the URL.
--
-- entry: key 16 | token 6 | flags 2 | outcome 1 | due 6 | priority 1 | was 1 and
-- queue hash 6 (as in resolve) | hash of the named queue 6 | length of queue 1 |
-- queue | change 39 if flagged | length of meta 4 | meta | URL
local ENTRY = '>c16I6I2BI6BBc6c6B'
local COMPLETE, REQUEUE, DROP, EXTEND = 0, 1, 2, 3
local FLAGS = { 'create', 'reset', 'url_set', 'meta_set', 'priority_set', 'change_set', 'made' }

local function parse_settlement(s)
  local e, flags, n, pos = {}, nil, nil, nil
  e.key, e.token, flags, e.outcome, e.due, e.priority, e.was, e.hash, e.named, n, pos = unpack_struct(ENTRY, s)
  for i = 1, #FLAGS do e[FLAGS[i]] = floor(flags / 2 ^ (i - 1)) % 2 == 1 end
  e.queue, pos = sub(s, pos, pos + n - 1), pos + n
  if e.change_set then e.change, pos = sub(s, pos, pos + CHANGE_LEN - 1), pos + CHANGE_LEN end
  local m = unpack_struct('>I4', s, pos)
  e.meta, e.url = sub(s, pos + 4, pos + 3 + m), sub(s, pos + 4 + m)
  return e
end

-- judge returns what to do (apply, same, make or nil), what to answer and, to make
-- a URL that was known, its state. Answers:
-- S settled, C created, U unknown, T stale, M it has to be made elsewhere first,
-- ? the seen keys have to be asked.
local function judge(c, e, r, l)
  if e.made then return 'make', 'S' end
  if not r and e.token ~= 0 then return nil, '?' end
  if not r and e.was == 0 then return nil, 'U' end
  local state = l and 'leased' or (r and (r.done == 1 and 'done' or 'queued'))
  if e.token ~= 0 and (state ~= 'leased' or l.token ~= e.token) then return nil, 'T' end
  if state == 'queued' and e.outcome == EXTEND then return nil, 'T' end
  if state == 'queued' or state == 'leased' then return 'apply', 'S' end
  if not state then
    state = (e.was == 2 and call('SISMEMBER', c.D, e.key) == 0) and 'done' or 'seen'
  end
  if e.outcome == COMPLETE and state == 'done' then return 'same', 'S' end
  if e.outcome == REQUEUE and r then return 'apply', 'S' end
  if not e.create then return nil, 'U' end
  if e.was == 2 and e.hash == e.named then return 'make', 'S', state end
  return nil, 'M'
end
