-- A page of the keys of a shard in order, from a position on.
--
-- blob: most keys 4, about; fewer come where few are old enough | days 2 (only keys recorded on an earlier day; 65535: all) |
--       position 4, none to begin
-- reply: next position as length 1 and text (empty: no more) | for each key: key 16 | was 1 | queue 6
local want, days = unpack_struct('>I4I2', blob)
local from = #blob > 6 and unpack_struct('>I4', blob, 7) or 0
local c = find_crawl(crawl_name)
if not c then return short('') end
local t = open_seen(c).keys

local function reversed(x)
  local r = 0
  for _ = 1, 32 do
    r = r * 2 + x % 2
    x = floor(x / 2)
  end
  return r
end

local out, left = {}, 24
while from < 4294967296 and #out < want and left > 0 do
  left = left - 1
  local place = reversed(from)
  local b, width = place % (2 * t.low), 2147483648 / t.low
  if b >= t.buckets then
    b, width = b - t.low, 2 * width
  elseif b < t.low and b + t.low >= t.buckets then
    width = 2 * width
  end
  local all = call('HGETALL', bucket_key(t, b))
  for i = 1, #all, 2 do
    local value = all[i + 1]
    if days == 65535 or unpack_struct('>I2', value) < days then
      out[#out + 1] = all[i] .. known_as(value)
    end
  end
  from = (floor(from / width) + 1) * width
end
return short(from < 4294967296 and pack('>I4', from) or '') .. concat(out)
