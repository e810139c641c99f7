-- A page of the steps of a crawl that began some time ago, or will have: the clock may have been set back.
--
-- blob: how long ago, in ms 6 | cursor
-- reply: next cursor as length 1 and text (empty: no more) | for each: key 16 | length 4 | step
local age, c = unpack_struct('>I6', blob), find_crawl(crawl_name)
if not c then return short('') end
local got = call('HGETALL', outbox(c, 'o'))
for i = 1, #got, 2 do
  if math.abs(now - unpack_struct('>I6', got[i + 1], 2)) >= age then take_apart(c, got[i], got[i + 1]) end
end
local next, got = scan('HSCAN', outbox(c, 'p'), sub(blob, 7), 200)
local out = { short(next) }
for i = 1, #got, 2 do
  if math.abs(now - unpack_struct('>I6', got[i + 1], 20)) >= age then out[#out + 1] = got[i] .. long(got[i + 1]) end
end
return concat(out)
