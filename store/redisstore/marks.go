package redisstore

import (
	"context"
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
)

// A mark says that the URL of a key was dropped because it was not found under the spelling that was offered first; the next other
// spelling is queued (store.Settlement.Mark). An Add must learn of marks without a script call more. So marks are at the homes of keys: an
// offer sends the spelling of a URL with it, and whoever resolves a key is told its mark. What an offer finds to be another spelling is
// queued as a URL to force is, after the URLs before it in the batch.

// What lua/mark.lua is asked to do.
const (
	markThem = 'M' // mark keys that have no mark
	markNone = 'U' // take their marks away
)

// markBatch returns a batch for lua/mark.lua.
func (s *Store) markBatch(crawl string, what byte) *batch {
	return s.batch(scriptMark, crawl, append([]byte{what}, s.shardsHead()...))
}

func (b *batch) addMark(i int, key *store.Key, spelling uint32) {
	shard, _ := b.s.layout.ofKey(key)
	c := b.add(shard, i)
	c.blob = binary.BigEndian.AppendUint32(append(c.blob, key[:]...), spelling)
}

// unmark takes away the marks of keys, which another daemon may have made.
func (s *Store) unmark(ctx context.Context, crawl string, keys []store.Key) error {
	b := s.markBatch(crawl, markNone)
	for i := range keys {
		b.addMark(i, &keys[i], 0)
	}
	return b.run(ctx)
}
