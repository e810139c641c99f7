-- What every script begins with.
--
-- KEYS[1] is a key of the shard that never exists. While the shard's slot is
-- being moved to another node, Redis answers ASK for a key that isn't there,
-- before the script runs: so a script never sees half of a shard.
--
-- ARGV[1] request id, "" for one that is not kept; its last byte is the phase of the step
-- ARGV[2] time in ms, for tests; "" for the server's
-- ARGV[3] how long the answer is kept, in ms
-- ARGV[4] name of the crawl
-- ARGV[5] the operation's packed arguments
-- ARGV[6] the mark of the store
local call, pack, unpack_struct = redis.call, struct.pack, struct.unpack
local sub, byte, floor = string.sub, string.byte, math.floor
local max, min, concat = math.max, math.min, table.concat
local base = sub(KEYS[1], 1, -2)
local request, kept, crawl_name, blob = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local answer_key = base .. 'r' .. request

-- NEVER is later than any time kept: 48 bits.
local NEVER = 281474976710655

-- text returns a whole number as Redis takes it. A number given to redis.call is printed
-- with 17 digits each time, which costs more than the command; few numbers differ.
local texts = {}
local function text(n)
  local s = texts[n]
  if not s then
    s = string.format('%.0f', n)
    texts[n] = s
  end
  return s
end

if request ~= '' then
  local before = call('GET', answer_key)
  if before then
    -- A write, so that a WAIT after it covers what it repeats.
    call('PEXPIRE', answer_key, kept)
    return before
  end
end

local now = tonumber(ARGV[2])
if not now then
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end

-- answer keeps the reply for a retry, which is also the write that WAIT covers
-- when nothing else was written.
local function answer(reply)
  if request ~= '' then
    call('SET', answer_key, reply, 'PX', kept)
  end
  return reply
end

-- many calls a command with any number of arguments, in runs of an even number
-- that fits Lua's stack.
local function many(command, key, args)
  local n = #args
  if n == 0 then return end
  if n <= 2000 then
    call(command, key, unpack(args))
    return
  end
  for i = 1, n, 2000 do
    call(command, key, unpack(args, i, min(n, i + 1999)))
  end
end

-- fetch is HMGET of any number of fields.
local function fetch(key, fields)
  local n = #fields
  if n <= 2000 then
    return call('HMGET', key, unpack(fields))
  end
  local out = {}
  for i = 1, n, 2000 do
    local got = call('HMGET', key, unpack(fields, i, min(n, i + 1999)))
    for j = 1, #got do out[i + j - 1] = got[j] end
  end
  return out
end
