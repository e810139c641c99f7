-- A page of the steps of a crawl that began some time ago.
--
-- blob: outbox 1 | how long ago, in ms 6 | cursor
-- reply: next cursor as length 1 and text (empty: no more) | for each: key 16 | length 4 | step
local box, age = unpack_struct('>c1I6', blob)
local c = find_crawl(crawl_name)
if not c then return short('') end
local next, got = scan('HSCAN', base .. box .. c.id, sub(blob, 8), 200)
local out = { short(next) }
for i = 1, #got, 2 do
  if unpack_struct('>I6', got[i + 1], 20) <= now - age then out[#out + 1] = got[i] .. long(got[i + 1]) end
end
return concat(out)
