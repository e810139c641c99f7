-- The seen keys of a shard: hashes small enough for Redis to keep them as
-- listpacks, about 33 bytes a key. Their number grows with the keys by linear
-- hashing: one bucket is split at a time, so growing never stops the world.
--
-- A key's place is a 32-bit number, its position in the shard's range of keys
-- with the bits reversed: so a bucket is a run of neighbouring keys, and keys can be
-- listed in order.
local FILL = 38 -- keys per bucket on average; a bucket may hold 128 as a listpack

-- open_seen loads what is needed to find buckets.
local function open_seen(c)
  local v = call('HMGET', c.key, 'seen', 'buckets')
  c.seen, c.buckets = tonumber(v[1]) or 0, tonumber(v[2]) or 1
  c.low = 1
  while c.low * 2 <= c.buckets do c.low = c.low * 2 end
  c.bucket_prefix = base .. 'h' .. c.id
  return c
end

local function bucket_key(c, b)
  return c.bucket_prefix .. pack('>I4', b)
end

-- bucket_at returns the key of the bucket for a place.
local function bucket_at(c, place)
  local b = place % (2 * c.low)
  if b >= c.buckets then b = b - c.low end
  return pack('>c0I4', c.bucket_prefix, b)
end

-- split moves the upper half of the next bucket to a new one. The keys that move have
-- the bit set that the longer place looks at: shards are a power of two, so it is a
-- bit of the key itself.
local function split(c, shards)
  local from, to = bucket_key(c, c.buckets - c.low), bucket_key(c, c.buckets)
  local bit, n = 0, shards * c.low
  while n > 1 do
    bit, n = bit + 1, n / 2
  end
  local at, unit = floor(bit / 8) + 1, 2 ^ (7 - bit % 8)
  local all, moved, gone = call('HGETALL', from), {}, {}
  for i = 1, #all, 2 do
    local key = all[i]
    if floor(byte(key, at) / unit) % 2 == 1 then
      local m = #moved
      moved[m + 1], moved[m + 2] = key, all[i + 1]
      gone[#gone + 1] = key
    end
  end
  many('HSET', to, moved)
  many('HDEL', from, gone)
  c.buckets = c.buckets + 1
  if c.buckets == 2 * c.low then c.low = c.buckets end
end

-- add_seen counts a key that was recorded, and splits a bucket when it is time: at once, since
-- a bucket that grows past a listpack never becomes one again.
local function add_seen(c, shards)
  c.seen, c.grew = c.seen + 1, true
  if c.seen > FILL * c.buckets then split(c, shards) end
end

-- save_seen writes the counts back.
local function save_seen(c)
  if c.grew then call('HSET', c.key, 'seen', text(c.seen), 'buckets', text(c.buckets)) end
end

-- today is the day that new keys are recorded under: days since 1970, 2 bytes.
local function today()
  return pack('>I2', floor(now / 86400000))
end
