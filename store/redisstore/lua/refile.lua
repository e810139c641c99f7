-- Files some queues of a crawl after a change of settings above them.
--
-- reply: 1 if there are more, else 0
local c = find_crawl(crawl_name)
if not c or not begin(c).refile then return '0' end
local more = refile(c, 200)
settle_queues(c)
save_counts(c)
return more and '1' or '0'
