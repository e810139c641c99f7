-- Takes a request out of the outbox: its queues have it.
--
-- blob: request 16
call('HDEL', base .. 'o', blob)
return ''
