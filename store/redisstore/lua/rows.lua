-- The text of the URLs of a crawl: a Redis key for each, so that a slot moves to another node in small pieces. What a
-- script changes is written once, when it ends.

local function open_rows(c) c.R, c.written = base .. 'R' .. c.id, {} end

-- get_rows returns the rows of keys, false for those without, and the names of their Redis keys.
local function get_rows(c, keys)
  local names = {}
  for i = 1, #keys do names[i] = c.R .. keys[i] end
  local rows = #keys > 0 and call('MGET', unpack(names)) or {}
  for i = 1, next(c.written) and #keys or 0 do
    local new = c.written[names[i]]
    if new ~= nil then rows[i] = new end
  end
  return rows, names
end

local function put_row(c, key, row) c.written[c.R .. key], c.dirty = row, true end

local function save_rows(c)
  local rows, n, gone = {}, 0, {}
  for name, row in pairs(c.written) do
    if row then
      rows[n + 1], rows[n + 2], n = name, row, n + 2
    else
      gone[#gone + 1] = name
    end
  end
  c.written = {}
  if #rows > 0 then call('MSET', unpack(rows)) end
  if #gone > 0 then call('UNLINK', unpack(gone)) end
end
