-- Counts of one crawl or all, and the names of the crawls.
--
-- reply: for each crawl: length of name 1 | name | seen 6 | held 6 | leased 6 | done 6 | queues 6 | active 6
local names, out = { crawl_name }, {}
if crawl_name == '*' then names = call('HKEYS', crawls_key) end
for i = 1, #names do
  local c = find_crawl(names[i])
  if c then
    local v = call('HMGET', c.key, 'seen', 'held', 'leased', 'done', 'queues', 'active')
    for j = 1, 6 do v[j] = tonumber(v[j]) or 0 end
    out[#out + 1] = pack('>I1c0I6I6I6I6I6I6', #names[i], names[i], unpack(v))
  end
end
return concat(out)
