-- Which of these keys are new? They are recorded, and what has to be queued elsewhere
-- becomes a step in the same script.
--
-- blob: shards 2 | kind 1 of the steps (A: without a cap; P: with one; X: none, what is new and has a queue is refused) | cap 6 |
--       for each URL: place 4 | number 2, + 32768 if a spelling follows | length 4 | entry (see FORMAT.md), or only its key and
--       6 zeros if it is not queued | spelling 4; with kind P no key is there twice
-- reply: a byte for each URL: N new, D duplicate, F refused, P its step has to be finished first, M duplicate, and marked with another spelling |
--        epoch 10: as long as a shard reports the same for a crawl, none of its keys was forgotten | 1 if keys of the crawl are marked here 1
local MOST_FIELDS, MOST_BYTES = 32, 65536 -- of o: what has to find a step reads all of it
local shards, kind, cap = unpack_struct('>I2c1c6', blob)
local c = open_seen(need_crawl(crawl_name))
local told, n_told, entries, day, busy = {}, 0, {}, today(), outbox(c, 'p')
local undecided, marked = call('HLEN', busy) > 0, call('EXISTS', marks_of(c)) == 1
local pos, size = 10, #blob
while pos <= size do
  local place, number, length, key, queue = unpack_struct('>I4I2I4c16c6', blob, pos)
  local queued, last = length > 22, pos + 9 + length
  local spelled = number >= 32768
  local status = 'D'
  local bucket = bucket_at(c.keys, place)
  if kind == 'X' and queued and call('HEXISTS', bucket, key) == 0 then
    status = 'F'
  elseif call('HSETNX', bucket, key, queued and day .. queue or day) == 1 then
    status = 'N'
    added(c.keys, shards)
    if queued then entries[#entries + 1] = spelled and pack('>I2', number - 32768) .. sub(blob, pos + 6, last) or sub(blob, pos + 4, last) end
    if queued and marked then unmark(c, key) end -- it was forgotten by age
  elseif undecided and sub(call('HGET', busy, key) or '', 19, 19) > 'A' then
    status = 'P'
  elseif marked and spelled and (call('HGET', marks_of(c), key) or sub(blob, last + 1, last + 4)) ~= sub(blob, last + 1, last + 4) then
    status = 'M'
  end
  n_told = n_told + 1
  told[n_told] = status
  pos = last + (spelled and 5 or 1)
end
save_seen(c)
if #entries > 0 then
  entries[0] = pack(TOGETHER, kind, now, cap, #entries)
  local row = concat(entries, '', 0)
  if kind == 'A' and #row <= MOST_BYTES and call('HLEN', outbox(c, 'o')) < MOST_FIELDS then
    call('HSET', outbox(c, 'o'), request, row)
  else
    many('HSET', busy, apart(request, row))
  end
end
return answer(concat(told) .. c.epoch .. (marked and '1' or '0'))
