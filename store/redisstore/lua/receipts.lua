-- What a queue's home did for the steps of a request: a receipt for each ticket. Whoever
-- delivers a step again gets the verdict of the first time (PROTOCOL.md, rule 3).
--
-- receipts: for each: number in the request 2 | verdict 1

local function open_receipts(ticket)
  local r = { kept = open_kept('r', ticket, 10 * kept), said = {}, new = {} }
  r.old = r.kept.value or ''
  for pos = 1, #r.old, 3 do r.said[sub(r.old, pos, pos + 1)] = sub(r.old, pos + 2, pos + 2) end
  return r
end

local function give_receipt(r, n, verdict)
  r.new[#r.new + 1] = n .. verdict
  return verdict
end

-- save_receipts writes in any case, so that WAIT covers a repetition.
local function save_receipts(r)
  keep(r.kept, r.old .. concat(r.new))
end
