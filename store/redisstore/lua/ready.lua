-- How many queues of the shard may be worth asking, and when there may be more, without changing anything.
--
-- blob: for each crawl with a limit that the daemon knows of: length 1 | crawl; of these the state tells also if they hold nothing here
-- reply: their number 4 | whether one goes before its turn 1 | with one crawl, the lowest turn of a ready queue 7 (0: it has
-- yet to be made ready) | the turn of the queue served last 7 | next 6, but of crawls with a limit | state, see state.lua
local crawls, n, urgent, lowest, served_turn, sum = each_crawl(turns_key), 0, 0, 0, 0, open_state()
local all, told = store_settings() or { limit = 0 }, {}

local function load(c)
  local v = call('HMGET', c.key, 'counts', 'settings', 'clock', 'refile', 'follow', 'trail', 'urgent')
  read_counts(c, v[1])
  c.set, told[c.name] = read_crawl_settings(v[2]), true
  local limit = c.set and c.set.limit or 0
  return limit == 0 and all.limit or limit, v
end

for _, c in ipairs(crawls) do
  local limit, v = load(c)
  local ready, first = 0, NEVER
  for _, key in ipairs(ready_keys(c.id)) do
    local n = call('ZCARD', key)
    if n > 0 then ready, first = ready + n, min(first, first_score(key)) end
  end
  local due = call('ZCOUNT', base .. 'W' .. c.id, '-inf', now) + call('ZCOUNT', base .. 'E' .. c.id, '-inf', now)
  if v[4] or v[5] or v[6] or now + 1000 < (tonumber(v[3]) or 0) then due = due + 1 end
  n = n + ready + due
  if v[7] == '0' and first_score(base .. 'U' .. c.id) <= now then urgent = 1 end
  add_crawl(sum, c, limit, function(left)
    if ready + due > 0 then return now, FREE end -- or the shard is asked
    return first_waiting(c, left)
  end, ready + due > 0 and NEVER or first_end(c))
  if crawl_name ~= '*' then
    served_turn = c.turn
    if due == 0 and ready > 0 then lowest = first end
  end
end
local pos = 1
while pos <= #blob do
  local name, next_pos = unpack_struct('>Bc0', blob, pos)
  local c = not told[name] and find_crawl(name)
  local limit = c and load(c) or 0
  if limit > 0 then add_state(sum, c, limit, false, 0, 0, 0, 0, false, function() return NEVER, FREE end, NEVER) end
  pos = next_pos
end
return pack('>I4BI7I7I6', n, urgent, lowest, served_turn, tell_time(sum.next)) .. tell_state(sum)
