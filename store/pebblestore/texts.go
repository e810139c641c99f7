package pebblestore

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
)

// texts is a cache, in bounded memory, of the texts of URLs that were lately queued or
// asked for, so that a duplicate's first-seen URL takes no two reads of the disk. Other
// texts are read: the cache may drop any text, and never returns a wrong one. So whatever
// moves a URL calls the cache immediately: put when it is queued, drop when it ends.
//
// It stays empty until the first caller asks for first-seen URLs.
type texts struct {
	on     atomic.Bool
	shards [textShards]textShard
}

const (
	textShards = 16
	textMoves  = 256
	textHead   = 16 + 4
	textCost   = 24       // bytes of a text's entry in the map
	maxText    = 32 << 10 // longer texts are not kept
)

// textShard has texts in two halves. When the young one is full, the old one is dropped,
// and the young one takes its place. A text that is found in the old one becomes young.
type textShard struct {
	mu         sync.Mutex
	young, old textHalf
	room       int               // bytes of a half
	moves      [textMoves]uint64 // puts and drops, of keys that are alike in some bits
}

// textHalf has texts, each after key and length, by half of the key and the crawl. It has no pointers for
// the garbage collector.
type textHalf struct {
	at    map[uint64]uint32
	texts []byte
}

// newTexts returns a cache of about so many bytes, and at least 2 MiB.
func newTexts(bytes int64) *texts {
	t := &texts{}
	for i := range t.shards {
		t.shards[i].room = max(2*maxText, int(bytes/textShards/2))
	}
	return t
}

func (t *texts) shard(k *store.Key) *textShard { return &t.shards[k[0]%textShards] }

// put notes that a URL is now held under a text.
func (t *texts) put(crawl uint32, k *store.Key, text string) {
	if !t.on.Load() {
		return
	}
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.version(k)++
	at := placeKey{crawl, *k}
	s.forget(at)
	s.add(at, text)
}

// drop notes that the text of a URL has changed.
func (t *texts) drop(crawl uint32, k *store.Key) {
	if !t.on.Load() {
		return
	}
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.version(k)++
	s.forget(placeKey{crawl, *k})
}

// get returns the text of a URL, "" for one whose text isn't kept. If the cache
// does not have it, the version is for learn. A text equal to the one given is
// returned as that, without a copy.
func (t *texts) get(crawl uint32, k *store.Key, like string) (text string, known bool, version uint64) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := placeKey{crawl, *k}
	b, young := s.young.get(at)
	if !young {
		if b, known = s.old.get(at); !known {
			return "", false, *s.version(k)
		}
	}
	if text = like; string(b) != like {
		text = string(b)
	}
	if !young {
		s.add(at, text)
	}
	return text, true, 0
}

// learn adds the text of a URL as it was read, "" if it isn't kept, unless the URL was put or
// dropped since get returned the version.
func (t *texts) learn(crawl uint32, k *store.Key, text string, version uint64) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *s.version(k) == version {
		s.add(placeKey{crawl, *k}, text)
	}
}

func (s *textShard) version(k *store.Key) *uint64 { return &s.moves[k[1]] }

// add adds a text to the young half if it is short enough. An older text of the URL is forgotten before.
func (s *textShard) add(at placeKey, text string) {
	if len(text) > maxText {
		return
	}
	if h := &s.young; len(h.texts)+textHead+len(text)+textCost*(len(h.at)+1) > s.room {
		s.young, s.old = s.old, s.young
		s.young.texts = s.young.texts[:0]
		clear(s.young.at)
	}
	s.young.add(at, text)
}

// forget forgets the text of a URL in both halves, or that of another which is as short: another URL may later hide
// the young one.
func (s *textShard) forget(at placeKey) {
	delete(s.young.at, at.short())
	delete(s.old.at, at.short())
}

// short returns a number by which a URL is looked up; another may have the same.
func (at *placeKey) short() uint64 { return binary.LittleEndian.Uint64(at.key[8:]) ^ uint64(at.crawl) }

func (h *textHalf) get(at placeKey) ([]byte, bool) {
	from, ok := h.at[at.short()]
	if !ok {
		return nil, false
	}
	e := h.texts[from:]
	if store.Key(e) != at.key {
		return nil, false // it is as short
	}
	return e[textHead:][:binary.LittleEndian.Uint32(e[16:])], true
}

func (h *textHalf) add(at placeKey, text string) {
	if h.at == nil {
		h.at = map[uint64]uint32{}
	}
	h.at[at.short()] = uint32(len(h.texts))
	h.texts = append(h.texts, at.key[:]...)
	h.texts = binary.LittleEndian.AppendUint32(h.texts, uint32(len(text)))
	h.texts = append(h.texts, text...)
}
