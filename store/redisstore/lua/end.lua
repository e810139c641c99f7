-- Clears steps whose queues have spoken, if they are still under way under this ticket.
--
-- blob: request 16 | kind 1 (T: all steps A that the request began here) | for each: number 2 | key 16 | but for A and T: place 4 |
--       what 1 (K: the key stays as it is; X: it is forgotten; W: it belongs to this queue) | queue 6
-- reply: a byte for each: Y cleared, N there is no such step
local request_id, kind = unpack_struct('>c16c1', blob)
local adds = kind == 'A' or kind == 'T'
local width = adds and 18 or 29
local n = (#blob - 17) / width
local c = find_crawl(crawl_name)
if not c then return string.rep('N', n) end
if kind == 'T' and call('HDEL', outbox(c, 'o'), request_id) == 1 then return string.rep('Y', n) end
local row = adds and call('HGET', outbox(c, 'o'), request_id)
if row then take_apart(c, request_id, row) end
open_seen(c)
local from, keys, told, cleared, gone = outbox(c, 'p'), keys_at(20, width), {}, {}, 0
local rows = fetch(from, keys)
for i = 1, #keys do
  local at = 18 + width * (i - 1)
  told[i] = 'N'
  if rows[i] and string.find(rows[i], request_id .. sub(blob, at, at + 1), 1, true) == 1 then
    told[i], cleared[#cleared + 1] = 'Y', keys[i]
    local what = not adds and byte(blob, at + 22)
    if what == 88 then -- X
      gone = gone + call('HDEL', bucket_at(c.keys, unpack_struct('>I4', blob, at + 18)), keys[i])
    elseif what == 87 then -- W
      local bucket = bucket_at(c.keys, unpack_struct('>I4', blob, at + 18))
      call('HSET', bucket, keys[i], sub(call('HGET', bucket, keys[i]) or today(), 1, 2) .. sub(blob, at + 23, at + 28))
    end
  end
end
many('HDEL', from, cleared)
removed(c, gone)
save_seen(c)
return concat(told)
