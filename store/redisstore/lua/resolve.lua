-- What is known of these keys, and which queue has them?
--
-- blob: for each key: place 4 | key 16
-- reply: for each key: 1 byte | queue hash 6 | the spelling that it is marked with 4 (0: none)
--        as known_as says, or 3: its step has to be finished first: length 4 | step
local c, out, step_of, marked = find_crawl(crawl_name), {}, nil, false
if c then
  open_seen(c)
  step_of, marked = steps_of(c), call('EXISTS', marks_of(c)) == 1
end
for pos = 1, #blob, 20 do
  local place, key = unpack_struct('>I4c16', blob, pos)
  local step = c and step_of(key)
  if step then
    out[#out + 1] = '\3' .. string.rep('\0', 10) .. long(step)
  else
    out[#out + 1] = known_as(c and call('HGET', bucket_at(c.keys, place), key)) .. (marked and call('HGET', marks_of(c), key) or '\0\0\0\0')
  end
end
return answer(concat(out))
