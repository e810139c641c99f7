-- What the queues of this shard hold of some keys.
--
-- blob: for each: key 16
-- reply: as found says
local c = find_crawl(crawl_name)
if not c then return string.rep('\0', #blob / 16) end
return found(begin(c), keys_at(1, 16))
