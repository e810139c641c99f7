-- The state of a queue, or of a page of queues.
--
-- blob: length 1 | name of a queue, or a zero for all | cursor
-- reply: next cursor as length 1 and text (empty: no more) | for each queue that has
--        a state: length 1 | name | queued 6 | live 4 | late 4 | overtaken 4 | done 6 | dropped 6 | fetched 6 |
--        failed 6 | last take 6 | not before 6 | next 6 (0: none) | leases of its group 4 | end of the group's delay 6 | settings
local c = find_crawl(crawl_name)
if not c then return short('') end
begin(c)
local name, pos = unpack_struct('>Bc0', blob)
local cursor, out, next, got = sub(blob, pos), {}, '', {}
if follow(c) or expire(c) then
  file_queues(c)
  save_counts(c)
  return short(cursor == '' and '-' or cursor) -- ask again; no cursor of a scan is "-", so it begins
end

local function tell(q)
  if used(q) == 0 and not q.set and q.before == 0 then return end
  local due = serves(c, q, q.late > 0 and first_score(queue_key(c, 'x', q)) or NEVER)
  local g, running_all, opened = group.of(c, q), 0, 0
  if g then
    running_all, opened = g.running, group.gate(c, g)
    if due < NEVER then due = max(due, opened) end
  end
  out[#out + 1] = short(q.name) .. pack('>I6I4I4I4I6I6I6I6I6I6I6I4I6', q.queued, q.live, q.late, q.over, q.done, q.dropped, q.fetched, q.failed,
      q.last, max(polite(c, q), opened), due == NEVER and 0 or due, running_all, opened) .. (q.set and write_settings(q.set) or NO_SETTINGS)
end

if name ~= '' then
  local q = find_queue(c, name)
  if q then tell(q) end
else
  next, got = scan('HSCAN', c.Q, cursor, 500)
  for i = 1, #got, 2 do tell(c.queues[got[i]] or parse_queue(got[i], got[i + 1])) end
end
file_queues(c)
save_counts(c)
return short(next) .. concat(out)
