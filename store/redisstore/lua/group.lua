-- Queues of one server, such as the hosts behind one address, are a group: the delay after a take of one holds for all, and their leases
-- count together for the bound. A group may have 100,000 queues, and a take must not look at each. So of those that are ready but for
-- this gate one, the front, is filed as other queues are; the others stand in the line of the group, in order of their turns, at 0 if they have urgent URLs. Of a group
-- K has, by its name: leases of all its queues 4 | whether the queue served last had urgent URLs 1 | length 1 | the front, if there is one |
-- length 1 | the queue served last.
--
-- All queues of a crawl are in one shard where the store has groups (layout.go), so a script sees the whole group.
local group = { ROW = '>I4BBc0Bc0', ROUNDS = 20 } -- and what scripts do with groups: a Lua function has at most 200 locals
local LINE = 11 -- the place of a queue that stands in the line

function group.open(c) c.K, c.groups, c.touched = base .. 'K' .. c.id, {}, {} end

-- of returns the group of a queue, nil or false for none.
function group.of(c, q)
  local name = q.set and q.set.group
  local g = name and c.groups[name]
  if name and not g then
    g = { running = 0, hurried = 0, front = '', by = '', line = base .. 'k' .. c.id .. name }
    local row = call('HGET', c.K, name)
    if row then g.running, g.hurried, g.front, g.by = unpack_struct(group.ROW, row) end
    c.groups[name] = g
  end
  return g
end

-- count counts leases of a queue for its group.
function group.count(c, q, n)
  local g = n ~= 0 and group.of(c, q)
  if g then g.running, g.changed = g.running + n, true end
end

function group.save(c)
  local rows = {}
  for name, g in pairs(c.groups) do
    if g.changed then
      rows[#rows + 1], rows[#rows + 2] = name, pack(group.ROW, g.running, g.hurried, #g.front, g.front, #g.by, g.by)
      g.changed = nil
    end
  end
  many('HSET', c.K, rows)
end

-- front_for returns the queue that waits in the place of one with a row: the front of its group, if it is in the line, else itself.
function group.front_for(id, name, row)
  if not row or #row < 60 or byte(row, 59) % 16 ~= LINE then return name end
  local _, _, front = unpack_struct(group.ROW, call('HGET', base .. 'K' .. id, (unpack_struct('>Bc0', row, 93))))
  return front
end
