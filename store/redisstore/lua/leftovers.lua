-- A page of the steps of a crawl that began some time ago.
--
-- blob: outbox 1 | how long ago, in ms 6 | cursor of HSCAN
-- reply: next cursor as length 1 and text ("0": no more) | for each: key 16 | length 4 | step
local box, age = unpack_struct('>c1I6', blob)
local c = find_crawl(crawl_name)
if not c then return '\1' .. '0' end
local got = call('HSCAN', base .. box .. c.id, sub(blob, 8), 'COUNT', 200)
local out = { short(got[1]) }
for i = 1, #got[2], 2 do
  local row = got[2][i + 1]
  if unpack_struct('>I6', row, 20) <= now - age then out[#out + 1] = got[2][i] .. long(row) end
end
return concat(out)
