-- The seen keys of a shard: a table of any size in buckets that are small enough for Redis to keep them as listpacks, about
-- 33 bytes a key. It grows by linear hashing: one bucket is split at a time, so no step gets longer as it grows, and no Redis
-- key gets large: a slot moves to another node key by key.
--
-- The place of a key is its position in the shard's range of keys with the bits reversed: so a bucket is a run
-- of neighboring keys, and keys can be listed in order.
local SEEN_FILL = 38 -- keys of a bucket on average; it may hold 128 as a listpack

local function open_seen(c)
  local v = call('HMGET', c.key, 'seen', 'buckets', 'epoch')
  local t = { prefix = base .. 'h' .. c.id, n = tonumber(v[1]) or 0, buckets = tonumber(v[2]) or 1, low = 1 }
  while t.low * 2 <= t.buckets do t.low = t.low * 2 end
  c.keys, c.epoch = t, pack('>c4I6', c.id, tonumber(v[3]) or 0)
  return c
end

local function bucket_key(t, b) return pack('>c0I4', t.prefix, b) end

local function bucket_at(t, place)
  local b = place % (2 * t.low)
  if b >= t.buckets then b = b - t.low end
  return pack('>c0I4', t.prefix, b)
end

-- added counts a new key. It splits a bucket when it is time, and immediately, since a listpack that has
-- grown too large never becomes one again.
local function added(t, shards)
  t.n, t.changed = t.n + 1, true
  if t.n <= SEEN_FILL * t.buckets then return end
  local from, to = bucket_key(t, t.buckets - t.low), bucket_key(t, t.buckets)
  -- Keys with the bit low in their places move. Shards are a power of two, so that is a bit of the key.
  local _, bit = math.frexp(shards * t.low)
  local at, unit = math.ceil(bit / 8), 2 ^ (-bit % 8)
  local all, moved, gone, n = call('HGETALL', from), {}, {}, 0
  for i = 1, #all, 2 do
    local key = all[i]
    if byte(key, at) % (2 * unit) >= unit then
      n = n + 1
      gone[n], moved[2 * n - 1], moved[2 * n] = key, key, all[i + 1]
    end
  end
  many('HSET', to, moved)
  many('HDEL', from, gone)
  t.buckets = t.buckets + 1
  if t.buckets == 2 * t.low then t.low = t.buckets end
end

local function removed(c, n)
  if n > 0 then c.keys.n, c.keys.changed = c.keys.n - n, true end
end

local function save_seen(c)
  if c.keys.changed then call('HSET', c.key, 'seen', text(c.keys.n), 'buckets', text(c.keys.buckets)) end
end

-- known_as says what the value of a key means: 0 unknown, 1 never queued, 2 of a queue | hash of the queue 6.
local function known_as(value)
  if value and #value > 2 then return '\2' .. sub(value, 3) end
  return (value and '\1' or '\0') .. '\0\0\0\0\0\0'
end

-- today is the day that new keys are recorded under: days since 1970, 2 bytes.
local function today()
  return pack('>I2', floor(now / 86400000))
end
