-- Settings of a queue, a crawl or the store, as bytes (FORMAT.md) and as a table. A negative number means something; 0 leaves
-- it to the next level.
local SETTINGS, NO_SETTINGS = '>i8i8I6i8BB', string.rep('\0', 32)
local FIELDS = { 'delay', 'inflight', 'blocked', 'limit', 'weight', 'paused' }

local function read_settings(s)
  if not s then return nil end
  local set = {}
  set.delay, set.inflight, set.blocked, set.limit, set.weight, set.paused = unpack_struct(SETTINGS, s)
  return set
end

local function write_settings(set)
  return pack(SETTINGS, set.delay, set.inflight, set.blocked, set.limit, set.weight, set.paused)
end

-- A change: mask 1 (bit n: field n is there; bit 7: times only get later) | the
-- settings' fields | not before 6.
local CHANGE, CHANGE_LEN = '>Bi8i8I6i8BBI6', 39

-- change_settings applies a change to settings and to the "not before" of a queue, and
-- returns both; the settings are nil if there are none left.
local function change_settings(set, change, before)
  local v = { unpack_struct(CHANGE, change) }
  set = set or read_settings(NO_SETTINGS)
  local mask = v[1]
  if mask >= 128 then
    mask = mask - 128
    v[4], v[8] = max(v[4], set.blocked), max(v[8], before or 0)
  end
  for i = 1, #FIELDS do
    if floor(mask / 2 ^ (i - 1)) % 2 == 1 then set[FIELDS[i]] = v[i + 1] end
  end
  if mask >= 64 then before = v[8] end
  if write_settings(set) == NO_SETTINGS then set = nil end
  return set, before
end

local function store_settings()
  return read_settings(call('HGET', base .. 'S', 'settings'))
end

-- gated moves a time behind the blocks of settings.
local function gated(t, set)
  if t == NEVER or not set then return t end
  if set.paused == 1 then return NEVER end
  return max(t, set.blocked)
end

-- let_through reports whether settings of a crawl or the store neither pause nor block.
local function let_through(set) return gated(now, set) <= now end
