-- The epoch of a crawl. What daemons remember of its keys holds while the epoch is the same
-- as before they learned it.
--
-- blob: what 1 ("?" which is it, "+" keys are about to be forgotten, "-" they are) | how long
--       that may take, in ms 6 | who forgets 16
-- reply: epoch 7 | 1 while keys are being forgotten, else 0
--
-- A new epoch begins when keys are forgotten, before that is acknowledged. One who died on the way
-- is waited for: until then no cache remembers anything, and then a new epoch begins.
local what, long, who = unpack_struct('>c1I6c16', blob)
local epochs, forgetters, busy = base .. 'E', base .. 'F', 0

-- An epoch begins with the time, so that a store that is made again has others.
call('HSETNX', epochs, crawl_name, text(now))
if what == '+' then
  call('ZADD', forgetters, text(now + long), who .. crawl_name)
elseif what == '-' then
  call('ZREM', forgetters, who .. crawl_name)
  call('HINCRBY', epochs, crawl_name, '1')
end
local all = call('ZRANGE', forgetters, '0', '-1', 'WITHSCORES')
for i = 1, #all, 2 do
  local crawl = sub(all[i], 17)
  if tonumber(all[i + 1]) <= now then
    call('ZREM', forgetters, all[i])
    call('HINCRBY', epochs, crawl, '1')
  elseif crawl == crawl_name then
    busy = 1
  end
end
-- A write, so that a master that has lost its replicas can't answer.
if what == '?' then call('SET', base .. 'w', '') end
return answer(pack('>I7B', tonumber(call('HGET', epochs, crawl_name)), busy))
