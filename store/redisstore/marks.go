package redisstore

import (
	"context"
	"encoding/binary"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/store"
)

// A mark says that the URL of a key was dropped because it was not found under the spelling that was offered first; the next other
// spelling is queued (store.Settlement.Mark). An Add must learn of marks without a script call more, and without reading what it did not read
// before. So marks are at the homes of keys, and every answer to an offer says whether its shard has any of the crawl. Only if one has, an
// Add asks for those of the spellings in its batch first, so that what they requeue keeps its place in the batch.

// What lua/mark.lua is asked to do.
const (
	markNew   = 'M' // mark keys that have no mark
	markAgain = 'N' // mark keys
	markNone  = 'U' // take their marks away
	markAsk   = 'Q' // which are marked with another spelling?
)

// marked remembers which shards have no marks of a crawl, as far as this daemon knows. Another daemon may have made the first one since: then the
// shard's answer to an offer says so.
type marked struct {
	mu   sync.Mutex
	none map[string][]bool // by crawl and shard
}

// maybe reports whether a shard may have marks of a crawl: it has, or this daemon has not asked it.
func (m *marked) maybe(crawl string, shard int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	none := m.none[crawl]
	return none == nil || !none[shard]
}

// note notes the answer of a shard, of so many.
func (m *marked) note(crawl string, shard, shards int, any bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	none := m.none[crawl]
	if none == nil {
		if m.none == nil || len(m.none) >= 1000 {
			m.none = map[string][]bool{}
		}
		none = make([]bool, shards)
		m.none[strings.Clone(crawl)] = none
	}
	none[shard] = !any
}

// markBatch is a batch for lua/mark.lua.
type markBatch struct{ *batch }

func (s *Store) markBatch(crawl string, what byte) markBatch {
	return markBatch{s.batch(scriptMark, crawl, append([]byte{what}, s.shardsHead()...))}
}

func (b markBatch) addMark(i int, key *store.Key, spelling uint32) {
	shard, _ := b.s.layout.ofKey(key)
	c := b.add(shard, i)
	c.blob = binary.BigEndian.AppendUint32(append(c.blob, key[:]...), spelling)
}

// ask calls f with the answer for each key, and notes whether the crawl has marks.
func (b markBatch) ask(ctx context.Context, f func(i int, yes bool)) error {
	if len(b.calls) == 0 {
		return nil
	}
	if err := b.read(ctx, func(i int, r *reader) { f(i, r.bytes(1) == "Y") }); err != nil {
		return err
	}
	for _, c := range b.calls {
		b.s.marked.note(b.crawl, c.shard, b.s.opt.Shards, strings.HasSuffix(c.reply, "1"))
	}
	return nil
}

// unmark takes away the marks of keys, which another daemon may have made.
func (s *Store) unmark(ctx context.Context, crawl string, keys []store.Key) error {
	b := s.markBatch(crawl, markNone)
	for i := range keys {
		b.addMark(i, &keys[i], 0)
	}
	return b.ask(ctx, func(int, bool) {})
}

// spelling is what is known of an item before it is offered.
type spelling byte

const (
	notAsked spelling = iota // it is in its canonical form, or its shard had no marks when this daemon asked last
	asked                    // it isn't another spelling of a marked key
	other                    // it is
)

// spellings asks which items are other spellings of marked keys. It returns nil if it asks for none. Where offer is not to be asked, which would say
// that there are marks after all, it asks although there were none: with all for every item, else for those that name when they ended.
func (s *Store) spellings(ctx context.Context, crawl string, items []store.Item, all bool) (found []spelling, err error) {
	b := s.markBatch(crawl, markAsk)
	for i := range items {
		it := &items[i]
		shard, _ := s.layout.ofKey(&it.Key)
		ask := all || !it.EndedBefore.IsZero() || s.marked.maybe(crawl, shard)
		if ask && it.Variant && !it.Force && it.Queue != "" {
			b.addMark(i, &it.Key, store.Spelling(it.URL))
		}
	}
	if len(b.calls) > 0 {
		found = make([]spelling, len(items))
	}
	return found, b.ask(ctx, func(i int, yes bool) { found[i] = asked + spelling(flag(yes)) })
}
