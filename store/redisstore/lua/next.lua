-- When there may be more to take for a request.
--
-- blob: see serve.lua
-- reply: as of take.lua, with no lease
local names, all, next = { crawl_name }, store_settings(), NEVER
if crawl_name == '*' then names = call('ZRANGE', turns_key, 0, -1) end
for i = 1, #names do
  local c = find_crawl(names[i])
  if c then
    open_for_take(c)
    if advance(c, PAGE) then next = now end
    save_take(c)
    next = min(next, next_of(c))
  end
end
return (reply(gated(next, all)))
