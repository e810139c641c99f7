-- The outboxes of a crawl; see FORMAT.md. The ticket of a step is the request that began it. The steps A that one script began are a field of o, which costs less than one for each.
-- Where some have to be ended without the others, each becomes a field of p, as other steps are.
local function outbox(c, name) return base .. name .. c.id end

local TOGETHER, NO_QUEUE = '>c1I6c6I2', string.rep('\0', 8)

local function step_row(of, n, kind, since, old, cap, entry) return of .. n .. pack('>c1I6c8c6', kind, since, old, cap) .. entry end

-- apart returns the keys and the rows of the steps in a field of o, in turn.
local function apart(field, row)
  local kind, since, cap, n, at = unpack_struct(TOGETHER, row)
  local steps = {}
  for i = 1, 2 * n, 2 do
    local number, size, key = unpack_struct('>c2I4c16', row, at)
    steps[i], steps[i + 1] = key, step_row(field, number, kind, since, NO_QUEUE, cap, sub(row, at + 6, at + 5 + size))
    at = at + 6 + size
  end
  return steps
end

-- steps_of returns a function that finds the step of a key. A field of o is taken apart when it is asked for one of its keys.
local function steps_of(c)
  local found, got, others = {}, call('HGETALL', outbox(c, 'o')), outbox(c, 'p')
  for i = 1, #got, 2 do
    local _, _, _, n, at = unpack_struct(TOGETHER, got[i + 1])
    for _ = 1, n do
      local size, key = unpack_struct('>xxI4c16', got[i + 1], at)
      found[key], at = i, at + 6 + size
    end
  end
  local any = call('HLEN', others) > 0
  return function(key)
    local i = found[key]
    if type(i) == 'number' then
      local steps = apart(got[i], got[i + 1])
      for j = 1, #steps, 2 do found[steps[j]] = steps[j + 1] end
    end
    return found[key] or any and call('HGET', others, key)
  end
end

-- take_apart makes a field of p of each step in a field of o.
local function take_apart(c, field, row)
  many('HSET', outbox(c, 'p'), apart(field, row))
  call('HDEL', outbox(c, 'o'), field)
end
