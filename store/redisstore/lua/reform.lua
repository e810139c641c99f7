-- Gives a shard of format 8 the mark of this format: a daemon of an older build is refused from here on. The rows are read as they are, and
-- written in this format when they change; all queues are filed again.
--
-- blob: length 1 | the mark of format 8 | the mark of this one
-- reply: Y, or N if the shard has another mark
local old, at = unpack_struct('>Bc0', blob)
local new, have = sub(blob, at), call('GET', base .. 'b')
if have == old then
  call('SET', base .. 'b', new)
  for _, c in ipairs(each_crawl(crawls_key)) do call('HSET', c.key, 'refile', '') end
  have = new
end
return answer(have == new and 'Y' or 'N')
