-- Takes URLs from their queue: the part of a step that ends what a queue has of a key.
--
-- blob: mode 1 (h: in any state; f: unless it is held; a: as f, and completed or dropped URLs stay counted;
--       d: only those of a deleted queue) | request 16 | before 6 (f: and unless it ended then or later; 0: whenever) | for each: number 2 | key 16
-- reply: for each: Y or H (left as it is) 1 | since when its text was kept 6 (0: it wasn't)
local mode, ticket, before = unpack_struct('>c1c16I6', blob)
local c = find_crawl(crawl_name)
if not c then return string.rep('Y\0\0\0\0\0\0', (#blob - 23) / 18) end
begin(c)
local out, keys, r = {}, keys_at(26, 18), open_receipts(ticket)
local rows = load_held(c, keys)
load_over(c, keys)

local function release(key, row)
  local rec, l = c.records[key], c.leases[key]
  if mode == 'd' then
    if not row or rec then return 'H', 0 end
    drop_deleted(c, key)
    return 'Y', 0
  end
  if rec and mode ~= 'h' and (l or rec.done == 0 or before > 0 and ended_at(rec) >= before) then return 'H', 0 end
  if mode ~= 'a' then close_over(c, key) end
  if not rec then return 'Y', 0 end
  take_out(c, find_queue(c, rec.queue), key, rec, l, mode == 'a')
  drop_record(c, key)
  return 'Y', rec.created
end

for i = 1, #keys do
  -- A request has a receipt of its own for this part of a step.
  local n, created = pack('>I2', 32768 + unpack_struct('>I2', blob, 18 * i + 6)), 0
  local verdict = r.said[n]
  if not verdict then
    verdict, created = release(keys[i], rows[i])
    give_receipt(r, n, verdict)
  end
  out[i] = pack('>c1I6', verdict, created)
end
file_queues(c)
save_counts(c)
save_receipts(r)
return concat(out)
