-- Counts of one crawl or all, and the names of the crawls.
--
-- reply: for each crawl: length of name 1 | name | steps under way 6 | seen 6 | in flight 6 | dropped 6 | marked 6 | fetched 6 | failed 6 | held 6 | leased 6 | done 6 |
-- queues 6 | active 6; in flight are the leases that have not run out
local MOST = 5000 -- leases of a crawl that are looked at: if more have run out since the last take, the rest count as in flight
local crawls, out = each_crawl(crawls_key), {}
for i = 1, #crawls do
  local c = crawls[i]
  local v = call('HMGET', c.key, 'seen', 'counts', 'dropped')
  local coming = call('HLEN', base .. 'p' .. c.id)
  for _, row in ipairs(call('HVALS', base .. 'o' .. c.id)) do coming = coming + unpack_struct('>I2', row, 14) end
  local counts = read_counts(c, v[2])
  local live, ended = c.leased - c.late + c.over, {}
  local keys = keys_of(call('ZRANGEBYSCORE', base .. 'E' .. c.id, '-inf', now, 'LIMIT', '0', MOST), MOST)
  local leases = leases_of(c, keys)
  for j = 1, #leases do -- no take has noticed yet that they ended; a key may be listed twice
    local one = keys[(j - 1) % #keys + 1] .. (j > #keys and 'O' or 'L')
    if leases[j] and not ended[one] and ends_by(leases[j], now) then ended[one], live = true, max(0, live - 1) end
  end
  out[i] = short(c.name) .. pack('>I6I6I6I6I6I6I6', coming, tonumber(v[1]) or 0, live, tonumber(v[3]) or 0, call('HLEN', base .. 'v' .. c.id), c.fetched, c.failed) ..
    sub(counts, 1, 30)
end
return concat(out)
