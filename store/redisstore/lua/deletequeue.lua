-- Deletes a queue: for every caller it holds and counts nothing from here on. Its keys are
-- still to be forgotten, which the graveyard says: G of the crawl: incarnation 1 | name -> 1 if it had live leases 1 | when 6.
--
-- blob: name of the queue
-- reply: Y, or W if earlier deletions have to be finished first
local c = find_crawl(crawl_name)
local q = c and find_queue(begin(c), blob)
if not q or used(q) + q.over == 0 then return answer('Y') end
local next = (q.inc + 1) % INCARNATIONS
if call('HEXISTS', base .. 'G' .. c.id, char(next) .. blob) == 1 then return answer('W') end
call('HSET', base .. 'G' .. c.id, char(q.inc) .. blob, pack('>BI6', q.live > 0 and 1 or 0, now))
count(c, q, -q.queued, -q.live, -q.late, -q.done, -q.dropped)
result(c, q, -q.fetched, -q.failed)
count_over(c, q, -q.over)
q.inc, q.levels, q.first, q.doubt = next, 0, NEVER, nil
file_queues(c)
save_counts(c)
return answer('Y')
