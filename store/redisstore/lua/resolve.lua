-- What is known of these keys, and which queue has them?
--
-- blob: for each key: place 4 | key 16
-- reply: for each key: 1 byte | queue hash 6
--        as known_as says, or 3: its step has to be finished first: length 4 | step
local c, none, out, step_of = find_crawl(crawl_name), string.rep('\0', 6), {}, nil
if c then
  open_seen(c)
  step_of = steps_of(c)
end
for pos = 1, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local step = c and step_of(key)
  out[#out + 1] = step and '\3' .. none .. long(step) or known_as(c and call('HGET', bucket_at(c.keys, place), key))
end
return answer(concat(out))
