-- Gives a shard the mark of its store, where the store is being made.
--
-- blob: 1 if it is
-- reply: Y, or N if the shard has another mark or none
local have = call('GET', base .. 'b')
if not have and blob == '1' then
  call('SET', base .. 'b', ARGV[6])
  have = ARGV[6]
end
return answer(have == ARGV[6] and 'Y' or 'N')
