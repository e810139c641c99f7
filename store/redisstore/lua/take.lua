-- Leases URLs that are due, of one crawl or all, in fair rotation, or of one queue.
--
-- blob: see serve.lua
-- reply: F 1 | next 6 (0: none; 1: ask again; 2: ask the other shards, then again), but of crawls with a limit | URLs that the queue served
--        last may still give 4 | length 4 | state, see state.lua | for each lease: lease 23 | key 16 |
--        length of crawl 1 | crawl | length 4 | record; lease and record as in record.lua
-- and, if it was given before: S 1 | length of client 1 | for each crawl: length of crawl 1 | crawl | length 4 | for each lease: key 16 |
--        lease 23 | client
local crawls, all = each_crawl(turns_key), store_settings()
for _, c in ipairs(crawls) do open_for_take(c) end
local last = let_through(all) and round(crawls)
for _, c in ipairs(crawls) do save_take(c) end
turn_to(crawls, last)
local sum, short_of = open_state(), want.urls == 0 or not filled()
for _, c in ipairs(crawls) do
  local limit = crawl_limit(c)
  if limit > 0 then crawl_room(c) end -- does the daemon know what the others have?
  if short_of or limit > 0 then tell_of(sum, c, limit) end
end
return answer_take(crawls, sum.next, tell_state(sum))
