-- found returns what the queues of this shard hold of some keys, for each: 0, or 1 | state 1 (1 queued, 2 leased, 3 done,
-- 4 dropped) | token 6 | until 6 | attempts 4 | when it was taken or extended 6 | length of client 1 | client
-- of the lease | length 4 | record; before that its key, if asked for.
local function found(c, keys, with_keys)
  local rows, leases = load_held(c, keys)
  local out = {}
  for i = 1, #keys do
    local row, lease = rows[i], leases[i]
    if not c.records[keys[i]] then
      out[i] = '\0'
    elseif lease then
      out[i] = '\1\2' .. sub(lease, 1, 16) .. sub(lease, 18, 23) .. short(sub(lease, 24)) .. long(row)
    else
      local done = byte(row, 24) % 4
      out[i] = '\1' .. char(done == 0 and 1 or 2 + done) .. string.rep('\0', 23) .. long(row)
    end
    if with_keys then out[i] = keys[i] .. out[i] end
  end
  return concat(out)
end
