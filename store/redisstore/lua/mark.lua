-- Marks keys, takes marks away, or asks for them.
--
-- blob: what 1 (M: mark, unless there is a mark; N: mark in any case; U: unmark; Q: ask) | shards 2 | for each: key 16 | spelling 4
-- reply: a byte for each: Y it was done, or the key is marked with another spelling; N | 1 if the crawl has marks here 1
local what, shards = unpack_struct('>c1I2', blob)
local c, out = find_crawl(crawl_name), {} -- a shard without the crawl has no key to mark
local any = c and call('EXISTS', marks_of(c)) == 1
for pos = 4, #blob, 20 do
  local key, spelling = unpack_struct('>c16c4', blob, pos)
  local have = any and call('HGET', marks_of(c), key)
  local yes
  if what == 'Q' then
    yes = have and have ~= spelling
  elseif what == 'U' then
    if have then unmark(c, key) end
    yes = have
  elseif c then
    yes = what == 'N' or not have
    if yes then set_mark(c, key, spelling, shards) end
  end
  out[#out + 1] = yes and 'Y' or 'N'
end
return answer(concat(out) .. ((c and call('EXISTS', marks_of(c)) == 1) and '1' or '0'))
