package redisstore

import (
	"context"
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
)

// A mark says that the URL of a key was dropped because it was not found under the first offered spelling; the next other
// spelling is queued (store.Settlement.Mark). An Add must learn of marks without another script call. So marks are at the homes of keys: an
// offer includes the spelling of each URL, and resolving a key returns its mark. A URL that an offer finds to be another spelling is
// queued like a forced one, after the URLs before it in the batch.

// The actions of lua/mark.lua.
const (
	markThem = 'M' // mark keys that have no mark
	markNone = 'U' // remove their marks
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

// unmark removes the marks of keys, which another daemon may have made.
func (s *Store) unmark(ctx context.Context, crawl string, keys []store.Key) error {
	b := s.markBatch(crawl, markNone)
	for i := range keys {
		b.addMark(i, &keys[i], 0)
	}
	return b.run(ctx)
}
