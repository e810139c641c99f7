-- Gives a shard the mark of its store, in place of none, or of that of format 8: a daemon of an older build is refused from here on. Rows of that
-- format are read as they are, and written in this one when they change; all queues are filed again.
--
-- blob: length 1 | the mark before, empty for none | mark
-- reply: Y, or N if the shard has another mark
local before, at = unpack_struct('>Bc0', blob)
local mark, have = sub(blob, at), call('GET', base .. 'b') or ''
if have == before then
  call('SET', base .. 'b', mark)
  for _, c in ipairs(each_crawl(crawls_key)) do call('HSET', c.key, 'refile', '') end
  have = mark
end
return answer(have == mark and 'Y' or 'N')
