-- The outboxes of a crawl: o of steps that leave a key known (kind A), p of others; see FORMAT.md.
local function outbox(c, kind) return base .. (kind == 'A' and 'o' or 'p') .. c.id end

local ticket = sub(request, 1, 15) .. '\1' -- of the phase that queues

-- step_row returns a step; steps that differ in their numbers and entries share a frame.
local function step_frame(kind, old, cap) return pack('>c1I6c8c6', kind, now, old, cap) end
local function step_row(n, frame, entry) return ticket .. n .. frame .. entry end
