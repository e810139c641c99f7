-- What there may be to do for a sweeper: a page of the crawls that have steps or a graveyard.
--
-- blob: cursor of HSCAN
-- reply: 1 if crawls wait to be deleted | next cursor as length 1 and text | for each crawl: length 1 | name
local got = call('HSCAN', crawls_key, blob, 'COUNT', 200)
local out = { string.char(call('EXISTS', base .. 'g')) .. short(got[1]) }
for i = 1, #got[2], 2 do
  local name, id = got[2][i], pack('>I4', got[2][i + 1])
  if call('EXISTS', base .. 'o' .. id, base .. 'p' .. id, base .. 'G' .. id) > 0 then
    out[#out + 1] = short(name)
  end
end
return concat(out)
