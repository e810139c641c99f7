-- Gives back what a take leased whose answer is not used: the leases end, and don't count.
--
-- blob: request 16
local taken = call('GET', base .. 'r' .. blob)
-- If the take comes later after all, it finds that it was answered with nothing.
call('SET', base .. 'r' .. blob, 'S', 'PX', kept)
local pos, crawls = 2, {}
while taken and pos <= #taken do
  local token, key, n = unpack_struct('>I6c16B', taken, pos)
  local name = sub(taken, pos + 23, pos + 22 + n)
  local c = crawls[name] or find_crawl(name)
  if c then
    crawls[name] = c
    local row = call('HGET', base .. 'L' .. c.id, key)
    local l = row and parse_lease(row)
    if l and l.token == token then
      l.attempts, l['until'] = l.attempts - 1, min(now, l['until'])
      call('HSET', base .. 'L' .. c.id, key, lease_row(l))
      if l.late == 0 then call('ZADD', base .. 'E' .. c.id, text(l['until']), key) end
    end
  end
  pos = pos + 23 + n
end
return ''
