-- Crawls of a shard. Each has a number that is the shard's own, so that to forget
-- a crawl is to forget its number; what has that number is swept later.
local crawls_key, turns_key = base .. 'c', base .. 't'

local function find_crawl(name)
  local number = call('HGET', crawls_key, name)
  if not number then return number end
  local id = pack('>I4', number)
  return { name = name, id = id, key = base .. 'C' .. id }
end

local function need_crawl(name)
  local c = find_crawl(name)
  if c then return c end
  call('HSET', crawls_key, name, call('HINCRBY', base .. 'S', 'crawls', 1))
  c = find_crawl(name)
  -- An epoch begins with the time, so that a store that is made again has others.
  call('HSET', c.key, 'epoch', text(now))
  return c
end

-- each_crawl returns the crawl of the call, or all that a key lists.
local function each_crawl(key)
  local names, list = { crawl_name }, {}
  if crawl_name == '*' then names = key == turns_key and call('ZRANGE', key, 0, -1) or call('HKEYS', key) end
  for i = 1, #names do list[#list + 1] = find_crawl(names[i]) or nil end
  return list
end

-- LANES is how many sets there are of ready queues that have leases: of those with 1, 2 … leases, and in the last one of all with
-- more. So a request that bounds leases does not pass over the queues that have as many.
local LANES = 8

-- ready_keys returns the keys of a crawl's ready queues: of those without leases, or with a bound of their own, and of each lane.
local function ready_keys(id)
  local keys = { base .. 'Y' .. id }
  for n = 1, LANES do keys[n + 1] = base .. 'y' .. char(n) .. id end
  return keys
end

local function first_score(key)
  local head = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  return tonumber(head[2]) or NEVER
end

-- keys_of returns the keys in lists of E, up to a list with which they are so many, and the number of these lists.
local function keys_of(lists, most)
  local keys, n = {}, 0
  while n < #lists and #keys < most do
    n = n + 1
    for at = 1, #lists[n], 16 do keys[#keys + 1] = sub(lists[n], at, at + 15) end
  end
  return keys, n
end

-- ends_by reports whether a lease, as L or O has it, runs and ends by a time.
local function ends_by(l, t) return byte(l, 17) == 0 and unpack_struct('>I6', l, 7) <= t end

-- leases_of returns the leases of keys, as L has them, and behind those the overtaken ones, as O does; false for none.
local function leases_of(c, keys)
  local rows = fetch(base .. 'L' .. c.id, keys)
  if c.over > 0 then
    for _, row in ipairs(fetch(base .. 'O' .. c.id, keys)) do rows[#rows + 1] = row end
  end
  return rows
end

-- first_end returns when the first lease ends that runs. It deletes up to 20 lists before that: none of their leases runs.
local function first_end(c)
  local head
  for _ = 1, 20 do
    head = call('ZRANGE', base .. 'E' .. c.id, '0', '0', 'WITHSCORES')
    local leases = head[1] and leases_of(c, (keys_of(head, 1))) or {}
    for i = 1, #leases do
      if leases[i] and ends_by(leases[i], tonumber(head[2])) then return tonumber(head[2]) end
    end
    if not head[1] or type(redis.pcall('ZREM', base .. 'E' .. c.id, head[1])) == 'table' then break end
  end
  return tonumber(head[2]) or NEVER
end

-- What the queues of a crawl come to; in the order of read_counts. In format 8 limits were on done, and nothing follows late.
local COUNTS, COUNTS_LEN, OLD_LEN = '>I6I6I6I6I6I7I6I6I6I6I6I6I6', 79, 43
local NO_COUNTS = string.rep('\0', COUNTS_LEN)

local function read_counts(c, s)
  s = s or NO_COUNTS
  if #s == OLD_LEN then s = s .. sub(s, 13, 18) .. string.rep('\0', COUNTS_LEN - OLD_LEN - 6) end
  c.held, c.leased, c.done, c.nqueues, c.active, c.turn, c.late, c.fetched, c.failed, c.over, c.paused, c.limited, c.blocked = unpack_struct(COUNTS, s)
  return s
end
