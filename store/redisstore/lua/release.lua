-- Releases URLs, so that they are seen and nothing more: the first half of
-- forgetting them, or of giving them to another queue.
--
-- blob: mode 1 (h: all; f: those not held; a: as f, and what was completed or dropped stays counted) |
--       for each: key 16 | hash of its queue 6
--    or q | name of a queue: none is counted as completed or dropped there any more
-- reply: for each: Y or H (held, and left) 1 | since when its text was kept 6 (0: it wasn't)
local mode = sub(blob, 1, 1)
local c = find_crawl(crawl_name)
if not c then return answer(mode == 'q' and '' or string.rep('Y\0\0\0\0\0\0', (#blob - 1) / 22)) end
begin(c)
local out = {}
if mode == 'q' then
  local q = find_queue(c, sub(blob, 2))
  if q then count(c, q, 0, 0, 0, -q.done, -q.dropped) end
  settle_queues(c)
  save_counts(c)
  return answer('')
end

local function release(key)
  local r, l = find_record(c, key), find_lease(c, key)
  if not r then return 'Y', 0 end
  if mode ~= 'h' and (l or r.done == 0) then return 'H' end
  local q = find_queue(c, r.queue)
  if l then
    end_lease(c, q, key, l)
  elseif r.done > 0 then
    unend(c, q, key, r, mode == 'a')
  else
    pull(c, q, key, r)
    count(c, q, -1, 0, 0, 0)
  end
  drop_record(c, key)
  return 'Y', r.created
end

for pos = 2, #blob, 22 do
  local told, created = release(sub(blob, pos, pos + 15))
  out[#out + 1] = pack('>c1I6', told, created or 0)
end
settle_queues(c)
save_counts(c)
return answer(concat(out))
