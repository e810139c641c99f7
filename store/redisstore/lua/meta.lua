-- The properties of the store: stamped by the first daemon that opens it, returned to the others.
--
-- blob: number of fields 1 | for each: length 1 | name | length 4 | value | set
-- anyway 1; an empty value only asks
-- reply: for each field: length 4 | value
local n, pos, out = byte(blob, 1), 2, {}
for _ = 1, n do
  local name = sub(blob, pos + 1, pos + byte(blob, pos))
  pos = pos + 1 + #name
  local m = unpack_struct('>I4', blob, pos)
  local value, force = sub(blob, pos + 4, pos + 3 + m), byte(blob, pos + 4 + m)
  pos = pos + 5 + m
  local have = call('HGET', base .. 'M', name)
  if value == '' or have and (force == 0 or have == value) then
    value = have or '' -- and nothing is written: a store opens while a shard has no replica
  else
    call('HSET', base .. 'M', name, value)
  end
  out[#out + 1] = long(value)
end
return answer(concat(out))
