-- Keeps a copy of the store's identity in a shard that has the mark of its store.
--
-- blob: identity, empty to keep none
if blob ~= '' and call('GET', base .. 'i') ~= blob then call('SET', base .. 'i', blob) end
return ''
