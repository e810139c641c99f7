-- The settings of a crawl, or of the store.
--
-- reply: settings 32 (zeros: none)
local c = find_crawl(crawl_name)
local key = crawl_name == '*' and base .. 'S' or c and c.key
return key and call('HGET', key, 'settings') or NO_SETTINGS
