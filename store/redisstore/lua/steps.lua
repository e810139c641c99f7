-- The outboxes of a crawl: o of steps that leave a key known (kind A), p of others; see FORMAT.md.
local function outbox(c, kind) return base .. (kind == 'A' and 'o' or 'p') .. c.id end

local function step_row(n, kind, old, cap, entry)
  return pack('>c15Bc2c1I6c8c6c0', request, 1, n, kind, now, old, cap, entry)
end
