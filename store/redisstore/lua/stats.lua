-- Counts of one crawl or all, and the names of the crawls.
--
-- reply: for each crawl: length of name 1 | name | steps under way 6 | seen 6 | in flight 6 | dropped 6 | held 6 | leased 6 | done 6 |
-- queues 6 | active 6; in flight are the leases that have not run out
local MOST = 5000 -- leases of a crawl that are looked at: if more have run out since the last take, the rest count as in flight
local crawls, out = each_crawl(crawls_key), {}
for i = 1, #crawls do
  local c = crawls[i]
  local v = call('HMGET', c.key, 'seen', 'counts', 'dropped')
  local coming = call('HLEN', base .. 'p' .. c.id)
  for _, row in ipairs(call('HVALS', base .. 'o' .. c.id)) do coming = coming + unpack_struct('>I2', row, 14) end
  local leased, late = unpack_struct('>I6', v[2] or NO_COUNTS, 7), unpack_struct('>I6', v[2] or NO_COUNTS, 38)
  local live, ended = leased - late, {}
  local keys = keys_of(call('ZRANGEBYSCORE', base .. 'E' .. c.id, '-inf', now, 'LIMIT', '0', MOST), MOST)
  local leases = fetch(base .. 'L' .. c.id, keys)
  for j = 1, #keys do -- no take has noticed yet that they ended
    if leases[j] and not ended[keys[j]] and ends_by(leases[j], now) then ended[keys[j]], live = true, max(0, live - 1) end
  end
  out[i] = short(c.name) .. pack('>I6I6I6I6', coming, tonumber(v[1]) or 0, live, tonumber(v[3]) or 0) .. sub(v[2] or NO_COUNTS, 1, 30)
end
return concat(out)
