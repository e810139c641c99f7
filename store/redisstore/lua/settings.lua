-- Settings of a queue, a crawl or the store, as bytes and as a table. A negative number means something; 0 leaves
-- it to the next level. Of a queue in a group, 2 is added to paused, and the length 1 of the group's name and the name follow, filled up with
-- zeros to a multiple of 32 bytes: so the length of a queue's row says as before what else it has.
local SETTINGS, NO_SETTINGS = '>i8i8I6i8BB', string.rep('\0', 32)
local FIELDS = { 'delay', 'inflight', 'blocked', 'limit', 'weight', 'paused' }

local function read_settings(s)
  if not s then return nil end
  local set = {}
  set.delay, set.inflight, set.blocked, set.limit, set.weight, set.paused = unpack_struct(SETTINGS, s)
  if set.paused >= 2 then set.paused, set.group = set.paused - 2, (unpack_struct('>Bc0', s, #NO_SETTINGS + 1)) end
  return set
end

local function write_settings(set)
  local row = pack(SETTINGS, set.delay, set.inflight, set.blocked, set.limit, set.weight, set.paused + (set.group and 2 or 0))
  return set.group and row .. short(set.group) .. string.rep('\0', -(1 + #set.group) % #NO_SETTINGS) or row
end

-- Settings of a crawl or the store: limit is that of the whole crawl. In format 8 it was that of each queue, and nothing followed.
local CRAWL_MORE = '>i8i8'

local function read_crawl_settings(s)
  local set = read_settings(s)
  if not set then return nil end
  if #s == #NO_SETTINGS then
    set.queue_limit, set.limit, set.retention = set.limit, 0, 0
  else
    set.queue_limit, set.retention = unpack_struct(CRAWL_MORE, s, #NO_SETTINGS + 1)
  end
  return set
end

-- A change: mask 1 (bit n: field n is there; bit 7: times only get later) | the
-- settings' fields | not before 6.
local CHANGE, CHANGE_LEN = '>Bi8i8I6i8BBI6', 39

-- apply_change applies a change to settings and to the "not before" of a queue, and returns the latter.
local function apply_change(set, change, before)
  local v = { unpack_struct(CHANGE, change) }
  local mask = v[1]
  if mask >= 128 then
    mask = mask - 128
    v[4], v[8] = max(v[4], set.blocked), max(v[8], before or 0)
  end
  for i = 1, #FIELDS do
    if floor(mask / 2 ^ (i - 1)) % 2 == 1 then set[FIELDS[i]] = v[i + 1] end
  end
  if mask >= 64 then before = v[8] end
  return before
end

-- change_crawl applies a change to settings of a crawl or the store, or nil, and returns them as they are written, false if none are left: mask 1 (1: queue
-- limit, 2: retention) | queue limit 8 | retention 8 follow the change.
local CRAWL_CHANGE, CRAWL_CHANGE_LEN = '>Bi8i8', 17

local function change_crawl(set, change)
  set = set or read_crawl_settings(NO_SETTINGS)
  apply_change(set, change)
  local mask, queue_limit, retention = unpack_struct(CRAWL_CHANGE, change, CHANGE_LEN + 1)
  if mask % 2 == 1 then set.queue_limit = queue_limit end
  if mask >= 2 then set.retention = retention end
  local row = write_settings(set) .. pack(CRAWL_MORE, set.queue_limit, set.retention)
  return row ~= NO_SETTINGS .. string.rep('\0', 16) and row
end

local all_set = nil -- settings of the store, false for none

local function store_settings()
  if all_set == nil then all_set = read_crawl_settings(call('HGET', base .. 'S', 'settings')) or false end
  return all_set or nil
end

-- What holds back a queue that holds something, other than its delay, its URLs and its leases.
local FREE, PAUSED, LIMITED, BLOCKED = 0, 1, 2, 3

-- gated moves a time behind the blocks of settings.
local function gated(t, set)
  if t == NEVER or not set then return t end
  if set.paused == 1 then return NEVER end
  return max(t, set.blocked)
end

-- let_through reports whether settings of a crawl or the store neither pause nor block.
local function let_through(set) return gated(now, set) <= now end
