-- Gives a shard the mark of its store, unless it has one.
--
-- blob: mark
-- reply: Y, or N if the shard has another mark
local have = call('GET', base .. 'b')
if not have then
  call('SET', base .. 'b', blob)
  have = blob
end
return answer(have == blob and 'Y' or 'N')
