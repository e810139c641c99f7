-- What every script begins with.
--
-- KEYS[1] is a key of the shard that never exists. While the shard's slot moves to another node, Redis
-- answers ASK for a key that does not exist before it runs the script: no script sees half of a shard.
--
-- ARGV[1] request id, "" for one whose answer is not kept
-- ARGV[2] time in ms, for tests; "" for the server's
-- ARGV[3] how long the answer is kept, in ms
-- ARGV[4] name of the crawl
-- ARGV[5] the operation's packed arguments
-- ARGV[6] the mark of the store, which each shard has; "" for scripts that need none
local call, pack, unpack_struct = redis.call, struct.pack, struct.unpack
local sub, byte, char, floor = string.sub, string.byte, string.char, math.floor
local max, min, concat = math.max, math.min, table.concat
local base = sub(KEYS[1], 1, -2)
local request, kept, crawl_name, blob = ARGV[1], tonumber(ARGV[3]), ARGV[4], ARGV[5]

if ARGV[6] ~= '' and call('GET', base .. 'b') ~= ARGV[6] then
  return redis.error_reply('EMPTIED the shard does not have the mark of its store')
end

-- NEVER is later than any time kept: 48 bits.
local NEVER = 281474976710655

-- text returns a whole number as Redis takes it. Redis prints a number with 17 digits each time, which costs
-- more than the command; few numbers differ.
local printed = {}
local function text(n)
  local s = printed[n]
  if not s then
    s = string.format('%.0f', n)
    printed[n] = s
  end
  return s
end

local now = tonumber(ARGV[2])
if not now then
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end

-- open_kept finds what is kept of a request: a field of one of two hashes, of which the newer takes the place of the older from time
-- to time. If each were a Redis key that expires, Redis would look for each key that a script names among all of those, too.
local function open_kept(kind, id, ms)
  local k = { key = base .. 'r' .. kind, id = id, ms = ms }
  local v = call('HMGET', k.key, id, 'since')
  k.value, k.since = v[1] or call('HGET', k.key .. '-', id), tonumber(v[2])
  return k
end

-- keep keeps a value of a request for at least the time that open_kept got, and for three times that at most.
local function keep(k, value)
  if k.since and math.abs(now - k.since) <= k.ms then return call('HSET', k.key, k.id, value) end
  call('UNLINK', k.key .. '-')
  if k.since then call('RENAME', k.key, k.key .. '-') end
  call('HSET', k.key, 'since', text(now), k.id, value)
  call('PEXPIRE', k.key, text(3 * k.ms))
end

local answered = request ~= '' and open_kept('a', request, kept)
if answered and answered.value then
  keep(answered, answered.value) -- a write, so that a WAIT after it covers the first one
  return answered.value
end

-- answer keeps the reply for a retry. WAIT covers this write if the script made no other.
local function answer(reply)
  if answered then keep(answered, reply) end
  return reply
end

-- many calls a command with any number of arguments, in runs of an even number that fits Lua's stack.
local function many(command, key, args)
  for i = 1, #args, 2000 do
    call(command, key, unpack(args, i, min(#args, i + 1999)))
  end
end

-- fetch is HMGET, also of no fields. No script has more of them than fit Lua's stack: 7,000.
local function fetch(key, fields) return #fields > 0 and call('HMGET', key, unpack(fields)) or {} end

-- scan reads a page of a hash or set from a cursor on, "" for the first, and returns the next cursor, "" at the end, and the
-- page. A cursor begins with the id of the server's process: after a failover or a restart the scan starts again.
local function scan(command, key, cursor, count)
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  local got = call(command, key, sub(cursor, 1, #run) == run and sub(cursor, #run + 1) or '0', 'COUNT', count)
  return got[1] == '0' and '' or run .. got[1], got[2]
end

-- keys_at returns the keys of the blob that are so many bytes apart, from a position on.
local function keys_at(pos, width)
  local keys = {}
  for at = pos, #blob, width do keys[#keys + 1] = sub(blob, at, at + 15) end
  return keys
end

-- short returns a text after its length in a byte, and long after its length in four.
local function short(s) return pack('>I1c0', #s, s) end
local function long(s) return pack('>I4c0', #s, s) end
