-- Counts of one crawl or all, and the names of the crawls.
--
-- reply: for each crawl: length of name 1 | name | steps under way 6 | seen 6 | in flight 6 | dropped 6 | held 6 | leased 6 | done 6 |
-- queues 6 | active 6; in flight are the leases that have not run out
local crawls, out = each_crawl(crawls_key), {}
for i = 1, #crawls do
  local c = crawls[i]
  local v = call('HMGET', c.key, 'seen', 'counts', 'dropped')
  local coming = call('HLEN', base .. 'o' .. c.id) + call('HLEN', base .. 'p' .. c.id)
  local live = call('ZCOUNT', base .. 'E' .. c.id, '(' .. text(now), '+inf')
  out[i] = short(c.name) .. pack('>I6I6I6I6', coming, tonumber(v[1]) or 0, live, tonumber(v[3]) or 0) .. sub(v[2] or NO_COUNTS, 1, 30)
end
return concat(out)
