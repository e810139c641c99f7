-- The state of a queue, or of a page of queues.
--
-- blob: Q | name of a queue, or S | cursor
-- reply: next cursor as a byte of length and text (empty: no more; "-": ask again) | for each queue that has
--        a state: length 1 | name | queued 6 | live 4 | late 4 | done 6 | dropped 6 |
--        last take 6 | not before 6 | next 6 (0: none) | settings 32 (zeros: none)
local c = find_crawl(crawl_name)
if not c then return short('') end
begin(c)
if follow(c) or expire(c) then
  settle_queues(c)
  save_counts(c)
  return short('-')
end
local out, next, got = {}, '', {}

local function tell(q)
  if used(q) == 0 and not q.set and q.before == 0 then return end
  local due = serves(c, q, q.late > 0 and first_score(queue_key(c, 'x', q)) or NEVER)
  out[#out + 1] = short(q.name) .. pack('>I6I4I4I6I6I6I6I6', q.queued, q.live, q.late, q.done, q.dropped, q.last, polite(c, q), due == NEVER and 0 or due) .. (q.set and write_settings(q.set) or NO_SETTINGS)
end

if sub(blob, 1, 1) == 'Q' then
  local q = find_queue(c, sub(blob, 2))
  if q then tell(q) end
else
  next, got = scan('HSCAN', c.Q, sub(blob, 2), 500)
  for i = 1, #got, 2 do tell(c.queues[got[i]] or parse_queue(got[i], got[i + 1])) end
end
settle_queues(c)
save_counts(c)
return short(next) .. concat(out)
