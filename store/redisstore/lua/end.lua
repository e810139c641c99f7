-- Clears steps whose queues have spoken, if they are still under way under this ticket.
--
-- blob: request 16 | kind 1 | for each: place 4 | key 16 | number 2 | what 1 (K: the key stays as it is;
--       X: it is forgotten; W: it belongs to this queue) | queue 6
-- reply: a byte for each: Y cleared, N there is no such step
local ticket, kind = unpack_struct('>c16c1', blob)
local c = find_crawl(crawl_name)
if not c then return string.rep('N', (#blob - 17) / 29) end
open_seen(c)
local from, keys, told, cleared, gone = outbox(c, kind), keys_at(22, 29), {}, {}, 0
local rows = fetch(from, keys)
for i = 1, #keys do
  local place, n, what, queue = unpack_struct('>I4c2c1c6', sub(blob, 29 * i - 11, 29 * i - 8) .. sub(blob, 29 * i + 9, 29 * i + 17))
  told[i] = 'N'
  if rows[i] and sub(rows[i], 1, 18) == ticket .. n then
    told[i], cleared[#cleared + 1] = 'Y', keys[i]
    if what == 'X' then
      gone = gone + call('HDEL', bucket_at(c.keys, place), keys[i])
    elseif what == 'W' then
      local bucket = bucket_at(c.keys, place)
      call('HSET', bucket, keys[i], sub(call('HGET', bucket, keys[i]) or today(), 1, 2) .. queue)
    end
  end
end
many('HDEL', from, cleared)
removed(c, gone)
save_seen(c)
return concat(told)
