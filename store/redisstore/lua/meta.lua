-- The properties of the store: stamped by the first daemon that opens it, returned to the others.
--
-- blob: 1 to set what is there as well 1 | for each: length 1 | name | length 4 | value; an empty value only asks
-- reply: for each: length 4 | value
local pos, out = 2, {}
while pos <= #blob do
  local name, value, next = unpack_struct('>Bc0I4c0', blob, pos)
  local have = call('HGET', base .. 'M', name)
  if value == '' or have and byte(blob) == 0 then
    value = have or ''
  elseif have ~= value then
    call('HSET', base .. 'M', name, value)
  end
  out[#out + 1], pos = long(value), next
end
return answer(concat(out))
