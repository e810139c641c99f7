local STATE_OF = { [0] = 1, 3, 4 } -- by done

-- found returns what the queues of this shard hold of some keys, for each: 0, or 1 | state 1 (1 queued, 2 leased, 3 done,
-- 4 dropped) | token 6 | until 6 | attempts 4 | when it was taken or extended 6 | length of client 1 | client
-- of the lease | length 4 | record. With states, it returns only what is in one of them, each behind its key.
local function found(c, keys, states)
  local rows, leases = load_held(c, keys)
  local out = {}
  for i = 1, #keys do
    local row, lease = rows[i], leases[i]
    local state = c.records[keys[i]] and (lease and 2 or STATE_OF[byte(row, 24) % 4])
    local told = '\0'
    if state then
      told = '\1' .. char(state) .. (lease and sub(lease, 1, 16) .. sub(lease, 18, 23) .. short(sub(lease, 24)) or string.rep('\0', 23)) .. long(row)
    end
    if not states then
      out[#out + 1] = told
    elseif state and string.find(states, state, 1, true) then
      out[#out + 1] = keys[i] .. told
    end
  end
  return concat(out)
end
