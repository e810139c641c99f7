-- Hashes of any size in buckets, by linear hashing: one bucket is split at a time, so no step gets longer as
-- the table grows, and no Redis key gets large: a slot moves to another node key by key.
--
-- Bucket b of a table is the key: prefix | b 4. Which bucket has a field says its place, a number of 32 bits.

-- open_table opens a table of n fields with so many buckets, of fill fields each on average.
local function open_table(prefix, fill, n, buckets)
  local t = { prefix = prefix, fill = fill, n = n, buckets = buckets, low = 1 }
  while t.low * 2 <= buckets do t.low = t.low * 2 end
  return t
end

local function bucket_key(t, b) return pack('>c0I4', t.prefix, b) end

-- bucket_at returns the key of the bucket for a place.
local function bucket_at(t, place)
  local b = place % (2 * t.low)
  if b >= t.buckets then b = b - t.low end
  return bucket_key(t, b)
end

-- added counts a new field. It splits a bucket when it is time, and immediately, since a listpack that has
-- grown too large never becomes one again. goes_up(low) returns a function that reports whether the place of a field has
-- the bit low.
local function added(t, goes_up)
  t.n, t.changed = t.n + 1, true
  if t.n <= t.fill * t.buckets then return end
  local from, to = bucket_key(t, t.buckets - t.low), bucket_key(t, t.buckets)
  local all, moved, gone, up = call('HGETALL', from), {}, {}, goes_up(t.low)
  for i = 1, #all, 2 do
    local field = all[i]
    if up(field) then
      local m = #moved
      moved[m + 1], moved[m + 2] = field, all[i + 1]
      gone[#gone + 1] = field
    end
  end
  many('HSET', to, moved)
  many('HDEL', from, gone)
  t.buckets = t.buckets + 1
  if t.buckets == 2 * t.low then t.low = t.buckets end
end
