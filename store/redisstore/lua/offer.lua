-- Which of these keys are new? They are recorded, and what has to be queued elsewhere
-- becomes a step in the same script.
--
-- blob: shards 2 | kind 1 of the steps (A: without a cap; P: with one) | cap 6 |
--       for each URL: place 4 | number 2 | length 4 | entry (see FORMAT.md), or only its key and 6 zeros if it is not queued;
--       with kind P no key is there twice
-- reply: a byte for each URL: N new, D duplicate, P its step has to be finished first | epoch 10: as long as a shard
--        reports the same for a crawl, none of its keys was forgotten
local MOST_FIELDS, MOST_BYTES = 32, 65536 -- of o: what has to find a step reads all of it
local shards, kind, cap = unpack_struct('>I2c1c6', blob)
local c = open_seen(need_crawl(crawl_name))
local told, n_told, entries, day, busy = {}, 0, {}, today(), outbox(c, 'p')
local undecided = call('HLEN', busy) > 0
local pos, size = 10, #blob
while pos <= size do
  local place, length, key, queue = unpack_struct('>I4xxI4c16c6', blob, pos)
  local queued = length > 22
  local status = 'D'
  if call('HSETNX', bucket_at(c.keys, place), key, queued and day .. queue or day) == 1 then
    status = 'N'
    added(c.keys, shards)
    if queued then entries[#entries + 1] = sub(blob, pos + 4, pos + 9 + length) end
  elseif undecided and sub(call('HGET', busy, key) or '', 19, 19) > 'A' then
    status = 'P'
  end
  n_told = n_told + 1
  told[n_told] = status
  pos = pos + 10 + length
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
return answer(concat(told) .. c.epoch)
