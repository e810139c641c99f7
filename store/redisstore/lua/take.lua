-- Leases URLs that are due, of one crawl or all, in fair rotation.
--
-- blob: see serve.lua
-- reply: F 1 | next 6 (0: none; 1: ask again) | for each lease: lease 17 | key 16 |
--        length of crawl 1 | crawl | length 4 | record; lease and record as in record.lua
-- and, if it was given before: S 1 | next 6 | for each lease: lease 17 | key 16 | length of crawl 1 | crawl
local crawls, all = {}, store_settings()
local names = { crawl_name }
if crawl_name == '*' then names = call('ZRANGE', turns_key, 0, -1) end
for i = 1, #names do
  local c = find_crawl(names[i])
  if c then crawls[#crawls + 1] = open_for_take(c) end
end
local last = nil
for _, c in ipairs(crawls) do want.stopped = advance(c, PAGE) or want.stopped end
if let_through(all) then last = round(crawls) end
for _, c in ipairs(crawls) do save_take(c) end
turn_to(crawls, last)
local next = NEVER
if given < want.urls then
  for _, c in ipairs(crawls) do next = min(next, next_of(c)) end
end
return answer_take(gated(next, all))
