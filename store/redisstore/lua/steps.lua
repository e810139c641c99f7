-- The outboxes of a crawl: o of steps that leave a key known (kind A), p of others.
--
-- step: request 16 | number 2 | kind 1 | since 6 | was 1 | old queue 6 | mode 1 | cap 6 | entry
local function outbox(c, kind) return base .. (kind == 'A' and 'o' or 'p') .. c.id end

local function step_row(n, kind, old, cap, entry)
  return pack('>c15Bc2c1I6c8c6c0', request, 1, n, kind, now, old, cap, entry)
end
