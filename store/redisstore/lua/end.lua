-- Clears steps whose queues have spoken, if they are still under way under this ticket.
--
-- blob: request 16 | kind 1 | for each: place 4 | key 16 | number 2 | what 1 (K: the key stays as it is;
--       X: it is forgotten; W: it belongs to this queue) | queue 6
-- reply: a byte for each: Y cleared, N there is no such step
local request_id, kind = unpack_struct('>c16c1', blob)
local c = find_crawl(crawl_name)
if not c then return string.rep('N', (#blob - 17) / 29) end
open_seen(c)
local from, keys, told, cleared, gone = outbox(c, kind), keys_at(22, 29), {}, {}, 0
local rows = fetch(from, keys)
for i = 1, #keys do
  local at = 29 * i - 11
  told[i] = 'N'
  if rows[i] and string.find(rows[i], request_id .. sub(blob, at + 20, at + 21), 1, true) == 1 then
    told[i], cleared[#cleared + 1] = 'Y', keys[i]
    local what = byte(blob, at + 22)
    if what == 88 then -- X
      gone = gone + call('HDEL', bucket_at(c.keys, unpack_struct('>I4', blob, at)), keys[i])
    elseif what == 87 then -- W
      local bucket = bucket_at(c.keys, unpack_struct('>I4', blob, at))
      call('HSET', bucket, keys[i], sub(call('HGET', bucket, keys[i]) or today(), 1, 2) .. sub(blob, at + 23, at + 28))
    end
  end
end
many('HDEL', from, cleared)
removed(c, gone)
save_seen(c)
return concat(told)
