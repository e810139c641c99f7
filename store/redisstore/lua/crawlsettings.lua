-- The settings of a crawl, or of the store.
--
-- reply: settings 48, empty for none
local c = find_crawl(crawl_name)
local row = crawl_name == '*' and call('HGET', base .. 'S', 'settings') or c and call('HGET', c.key, 'settings')
local set = read_crawl_settings(row or nil)
return set and write_settings(set) .. pack(CRAWL_MORE, set.queue_limit, set.retention) or ''
