-- Begins steps of keys that are as they were found: to forget them, or to give them to a queue.
--
-- blob: shards 2 | kind 1 | for each: place 4 | key 16 | number 2 | was 1 and old queue 6 (as in resolve) |
--       mode 1 | cap 6 | length 4 | entry
-- reply: a byte for each: Y begun, R forgotten already (it was never queued), N it is no longer as
--        expected, P another step has to be finished first, U it is to be queued as another spelling, and is no longer marked
local shards, kind = unpack_struct('>I2c1', blob)
local c = open_seen(need_crawl(crawl_name))
local told, out, gone, begun, step_of = {}, {}, 0, {}, steps_of(c)

-- spelled is whether the mark of the key is what lets it be queued.
local function begin_step(bucket, key, old, spelled)
  if begun[key] or step_of(key) then return 'P' end
  local value = call('HGET', bucket, key)
  if known_as(value) ~= sub(old, 1, 7) then return 'N' end
  if value and spelled and call('HEXISTS', marks_of(c), key) == 0 then return 'U' end
  if kind == 'F' and byte(old) < 2 then
    gone = gone + call('HDEL', bucket, key)
    unmark(c, key)
    return 'R'
  end
  if not value then
    call('HSET', bucket, key, today())
    added(c.keys, shards)
  end
  begun[key] = true
  return 'Y'
end

local pos, size = 4, #blob
while pos <= size do
  local place, key, n, old, cap, length = unpack_struct('>I4c16c2c8c6I4', blob, pos)
  local verdict = begin_step(bucket_at(c.keys, place), key, old, kind == 'M' and floor(byte(blob, pos + 75) / 32) % 2 == 1)
  if verdict == 'Y' then
    out[#out + 1] = key
    out[#out + 1] = step_row(request, n, kind, now, old, cap, sub(blob, pos + 40, pos + 39 + length))
  end
  told[#told + 1] = verdict
  pos = pos + 40 + length
end
removed(c, gone)
-- From here on no daemon reports these keys as known: caches learned them in another epoch.
if kind == 'F' then call('HINCRBY', c.key, 'epoch', 1) end
save_seen(c)
many('HSET', outbox(c, 'p'), out)
return answer(concat(told))
