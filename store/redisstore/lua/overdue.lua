-- What there may be to do for a sweeper: a page of the crawls that have steps or a graveyard.
--
-- blob: cursor
-- reply: next cursor as length 1 and text | 1 if crawls wait to be deleted 1 | for each crawl: length 1 | name
local next, got = scan('HSCAN', crawls_key, blob, 200)
local out = { short(next) .. char(call('EXISTS', base .. 'g')) }
for i = 1, #got, 2 do
  local id = pack('>I4', got[i + 1])
  if call('EXISTS', base .. 'o' .. id, base .. 'p' .. id, base .. 'G' .. id) > 0 then out[#out + 1] = short(got[i]) end
end
return concat(out)
