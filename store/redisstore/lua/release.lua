-- Lets go of URLs, so that they are seen and nothing more: the first half of
-- forgetting them, or of giving them to another queue.
--
-- blob: mode 1 ("f": those not held alone) | for each: key 16 | hash of its queue 6
-- reply: for each: Y or H (held, and left) 1 | since when its text was kept 6 (0: it wasn't)
local mode = sub(blob, 1, 1)
local c = find_crawl(crawl_name)
if not c then return answer(string.rep('Y\0\0\0\0\0\0', (#blob - 1) / 22)) end
begin(c)
local out = {}

local function release(key, hash)
  local r, l = find_record(c, key), find_lease(c, key)
  if r and mode == 'f' and (l or r.done == 0) then return 'H' end
  if not r then
    -- Completed without text, unless it was dropped.
    local name = call('SADD', c.D, key) == 1 and call('HGET', c.N, hash)
    local q = name and find_queue(c, name)
    if q then count(c, q, 0, 0, 0, -1) end
    return 'Y', 0
  end
  local q = find_queue(c, r.queue)
  if l then
    end_lease(c, q, key, l)
  elseif r.done == 1 then
    uncomplete(c, q, key, r)
  else
    pull(c, q, key, r)
    count(c, q, -1, 0, 0, 0)
  end
  drop_record(c, key)
  call('SADD', c.D, key)
  return 'Y', r.created
end

for pos = 2, #blob, 22 do
  local told, created = release(sub(blob, pos, pos + 15), sub(blob, pos + 16, pos + 21))
  out[#out + 1] = pack('>c1I6', told, created or 0)
end
settle_queues(c)
save_counts(c)
return answer(concat(out))
