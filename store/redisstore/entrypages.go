package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// entryKeys asks for a page of keys.
func (s *Store) entryKeys(ctx context.Context, crawl string, shard int, kind byte, name, from string) (keys []store.Key, next string, err error) {
	blob := appendShort(appendUint([]byte{kind}, 4, entryPage), name)
	c := &call{shard: shard, script: scriptEntries, crawl: crawl, blob: append(blob, from...)}
	if err := s.run(ctx, []*call{c}); err != nil {
		return nil, "", err
	}
	r := reader{c.reply}
	next = r.short()
	for r.more() {
		keys = append(keys, r.key())
	}
	return keys, next, r.err()
}

// leasedEntries returns what a shard holds of keys, with the tokens of leases.
func (s *Store) leasedEntries(ctx context.Context, crawl string, shard int, keys []store.Key) ([]leased, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	c := &call{shard: shard, script: scriptLookup, crawl: crawl}
	for i := range keys {
		c.blob = append(c.blob, keys[i][:]...)
	}
	if err := s.run(ctx, []*call{c}); err != nil {
		return nil, err
	}
	r, out := reader{c.reply}, make([]leased, len(keys))
	for i := range keys {
		out[i].Entry = store.Entry{Key: keys[i], Crawl: crawl}
		out[i].token = s.readFound(&r, &out[i].Entry)
	}
	return out, r.err()
}
