-- Gives back what a take leased whose answer is not used: the leases end, and don't count.
--
-- blob: request 16
local take = open_kept('a', blob, kept)
local taken = take.value
-- If the take comes later after all, it finds that it was answered with nothing.
keep(take, 'S')
local pos, size_of = 3, taken and #taken > 1 and 39 + byte(taken, 2)
while taken and pos < #taken do
  local name, size, from = unpack_struct('>Bc0I4', taken, pos)
  local c = find_crawl(name)
  pos = from + size
  for at = from, pos - 1, size_of do
    local key, token = unpack_struct('>c16I6', taken, at)
    local row = c and call('HGET', base .. 'L' .. c.id, key)
    local l = row and parse_lease(row)
    if l and l.token == token then
      l.attempts, l['until'] = l.attempts - 1, min(now, l['until'])
      if l.late == 0 then l.token = 0 end -- no client has it
      call('HSET', base .. 'L' .. c.id, key, lease_row(l))
      if l.late == 0 then call('ZADD', base .. 'E' .. c.id, text(l['until']), key) end
    end
  end
end
return ''
