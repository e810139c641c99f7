-- Crawls of a shard. Each has a number that is the shard's own, so that to forget
-- a crawl is to forget its number; what has that number is swept later.
local crawls_key, turns_key = base .. 'c', base .. 't'

local function crawl_of(name, number)
  local id = pack('>I4', number)
  return { name = name, id = id, key = base .. 'C' .. id }
end

local function find_crawl(name)
  local number = call('HGET', crawls_key, name)
  return number and crawl_of(name, number)
end

local function need_crawl(name)
  local c = find_crawl(name)
  if c then return c end
  local number = call('HINCRBY', base .. 'S', 'crawls', 1)
  call('HSET', crawls_key, name, number)
  local c = crawl_of(name, number)
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

local function first_score(key)
  local head = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  return tonumber(head[2]) or NEVER
end

-- What the queues of a crawl come to; see counts in FORMAT.md.
local COUNTS = '>I6I6I6I6I6I7'
local NO_COUNTS = string.rep('\0', 37)
