-- The text of the URLs of a crawl: a table whose fields are keys.
local ROWS_FILL = 256

local function open_rows(c, counts)
  local n, buckets = 0, 1
  if counts then n, buckets = unpack_struct('>I6I4', counts) end
  c.rows = open_table(base .. 'R' .. c.id, ROWS_FILL, n, buckets)
end

-- row_place is the place of a key. It uses bits of the key that do not say its shard.
local function row_place(key) return (unpack_struct('>I4', key, 13)) end

local function rows_above(low)
  return function(key) return floor(row_place(key) / low) % 2 == 1 end
end

local function get_row(c, key) return call('HGET', bucket_at(c.rows, row_place(key)), key) end

local function get_rows(c, keys)
  local rows = {}
  for i = 1, #keys do rows[i] = get_row(c, keys[i]) end
  return rows
end

local function put_row(c, key, row)
  if call('HSET', bucket_at(c.rows, row_place(key)), key, row) == 1 then
    added(c.rows, rows_above)
    c.dirty = true
  end
end

local function drop_row(c, key)
  c.rows.n = c.rows.n - call('HDEL', bucket_at(c.rows, row_place(key)), key)
  c.dirty = true
end
