-- Which of these URLs are new? They are recorded, and what has to be queued
-- elsewhere goes into the outbox in the same step.
--
-- blob: shards 2 | mode 1 ("-" or "p": new keys are pending until confirmed) |
--       for each URL: place 4 | length 4 | entry (see FORMAT.md); with mode p no
--       key is there twice
-- reply: a byte for each URL: N new, D duplicate, P pending by another request
local shards, mode = unpack_struct('>I2c1', blob)
local c = open_seen(need_crawl(crawl_name))
local pend, day = mode == 'p' and 'p' or '', today()
local told, n_told = {}, 0
local out = { pack('>I6c1I1c0', now, pend == '' and 'A' or 'P', #crawl_name, crawl_name) } -- for the outbox
local pos, size = 4, #blob
while pos <= size do
  local place, n, key, hash = unpack_struct('>I4I4c16c6', blob, pos)
  local queued = byte(blob, pos + 43) > 0
  local bucket = bucket_at(c, place)
  local status = 'D'
  if call('HSETNX', bucket, key, queued and day .. hash .. pend or day) == 1 then
    status = 'N'
    add_seen(c, shards)
    if queued then
      out[#out + 1] = sub(blob, pos + 4, pos + 7 + n)
      if pend ~= '' then c.pending = c.pending + 1 end
    end
  elseif c.pending > 0 and #call('HGET', bucket, key) == 9 then
    status = 'P'
  end
  n_told = n_told + 1
  told[n_told] = status
  pos = pos + 8 + n
end
save_seen(c)
if #out > 1 then
  call('HSET', base .. 'o', request, concat(out))
  if pend ~= '' then call('HSET', c.key, 'pending', c.pending) end
end
return answer(concat(told))
