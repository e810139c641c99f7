-- A shard has the mark of its store. Without it, its data is gone: a node was emptied, and whatever the
-- script would answer would be wrong.
if call('GET', base .. 'b') ~= ARGV[6] then return redis.error_reply('EMPTIED the shard does not have the mark of its store') end
