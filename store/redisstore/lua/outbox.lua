-- What waits in the outbox since some time.
--
-- blob: how long, in ms 6
-- reply: 1 if crawls wait to be swept | for each: length 4 | request 16 | time 6 | kind 1 | length of crawl 1 | crawl | entries
local before = unpack_struct('>I6', blob)
local all, out = call('HGETALL', base .. 'o'), {}
for i = 1, #all, 2 do
  if unpack_struct('>I6', all[i + 1]) <= now - before then
    out[#out + 1] = pack('>I4', 16 + #all[i + 1]) .. all[i] .. all[i + 1]
  end
end
return string.char(call('EXISTS', base .. 'g')) .. concat(out)
