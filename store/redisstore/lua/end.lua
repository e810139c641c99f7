-- Clears steps whose queues have spoken, if they are still under way under this ticket.
--
-- blob: request 16 | kind 1 (T: all steps A that the request began here) | for each: number 2 | key 16 | but for A and T: place 4 |
--       what 1 (K: the key stays as it is; X: it is forgotten; W: it belongs to this queue) | queue 6
local ticket, kind = unpack_struct('>c16c1', blob)
local adds = kind == 'A' or kind == 'T'
local width = adds and 18 or 29
local c = find_crawl(crawl_name)
if not c or kind == 'T' and call('HDEL', outbox(c, 'o'), ticket) == 1 then return '' end
local row = adds and call('HGET', outbox(c, 'o'), ticket)
if row then take_apart(c, ticket, row) end
open_seen(c)
local from, keys, cleared, gone = outbox(c, 'p'), keys_at(20, width), {}, 0
local rows, marked = fetch(from, keys), call('EXISTS', marks_of(c)) == 1
for i = 1, #keys do
  local at = 18 + width * (i - 1)
  if rows[i] and string.find(rows[i], ticket .. sub(blob, at, at + 1), 1, true) == 1 then
    cleared[#cleared + 1] = keys[i]
    local what = adds and 'K' or sub(blob, at + 22, at + 22)
    if what ~= 'K' then
      if marked then unmark(c, keys[i]) end
      local bucket = bucket_at(c.keys, unpack_struct('>I4', blob, at + 18))
      if what == 'X' then
        gone = gone + call('HDEL', bucket, keys[i])
      else
        call('HSET', bucket, keys[i], sub(call('HGET', bucket, keys[i]) or today(), 1, 2) .. sub(blob, at + 23, at + 28))
      end
    end
  end
end
many('HDEL', from, cleared)
removed(c, gone)
save_seen(c)
return ''
