-- The steps of some keys.
--
-- blob: for each: key 16
-- reply: for each: length 4 | step, empty for none
local c, keys, out = find_crawl(crawl_name), {}, {}
if not c then return string.rep('\0', #blob / 4) end
for pos = 1, #blob, 16 do keys[#keys + 1] = sub(blob, pos, pos + 15) end
local adds, others = fetch(base .. 'o' .. c.id, keys), fetch(base .. 'p' .. c.id, keys)
for i = 1, #keys do
  local row = others[i] or adds[i] or ''
  out[i] = pack('>I4c0', #row, row)
end
return concat(out)
