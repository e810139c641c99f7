-- The seen keys of a shard: a table whose buckets are small enough for Redis to keep them as listpacks, about
-- 33 bytes a key.
--
-- The place of a key is its position in the shard's range of keys with the bits reversed: so a bucket is a run
-- of neighboring keys, and keys can be listed in order.
local SEEN_FILL = 38 -- a bucket may hold 128 as a listpack

-- open_seen opens the table of a crawl.
local function open_seen(c)
  local v = call('HMGET', c.key, 'seen', 'buckets', 'epoch')
  c.keys = open_table(base .. 'h' .. c.id, SEEN_FILL, tonumber(v[1]) or 0, tonumber(v[2]) or 1)
  c.epoch = pack('>c4I6', c.id, tonumber(v[3]) or 0)
  return c
end

-- above returns goes_up of the table. Shards are a power of two, so a bit of the place is a bit of the key.
local function above(shards)
  return function(low)
    local bit, n = 0, shards * low
    while n > 1 do bit, n = bit + 1, n / 2 end
    local at, unit = floor(bit / 8) + 1, 2 ^ (7 - bit % 8)
    return function(key) return floor(byte(key, at) / unit) % 2 == 1 end
  end
end

-- removed counts keys that were removed.
local function removed(c, n)
  if n > 0 then c.keys.n, c.keys.changed = c.keys.n - n, true end
end

-- save_seen writes the counts back.
local function save_seen(c)
  if c.keys.changed then call('HSET', c.key, 'seen', text(c.keys.n), 'buckets', text(c.keys.buckets)) end
end

-- today is the day that new keys are recorded under: days since 1970, 2 bytes.
local function today()
  return pack('>I2', floor(now / 86400000))
end
