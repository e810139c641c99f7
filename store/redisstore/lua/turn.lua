-- Whose turn it is to sweep.
--
-- blob: how long a turn is, in ms 6 | daemon
-- reply: Y if it is this daemon's, else N
local turn, daemon = unpack_struct('>I6', blob), sub(blob, 7)
local key = base .. 'T'
local whose = call('GET', key)
if whose and whose ~= daemon then return 'N' end
call('SET', key, daemon, 'PX', text(turn))
return 'Y'
