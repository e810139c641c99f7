package pebblestore

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// First-seen URLs are looked up after the commit, by the calling goroutine: the committer
// continues in the meantime. URLs that the cache of texts does not have are found as they were at
// one moment between two groups, when memory is not ahead of the rows: leases and rows of places in
// memory, and a snapshot of the rows.

// tellFirst sets the first-seen URLs of the duplicates of o whose texts are kept: those that the cache
// has, and then the others. It sets none if the store is not usable any more: the items were added.
func (s *Store) tellFirst(o *addOp) error {
	done, err := s.linger()
	if err != nil {
		return nil
	}
	defer done()
	list := s.fromCache(o)
	if len(list) == 0 {
		return nil
	}
	rows := s.moment(o.c, list)
	if rows == nil {
		return nil
	}
	placed, err := findQueued(rows, o.c.num, list)
	if err == nil {
		err = findEnded(rows, o.c.num, placed)
	}
	for i := range list {
		if l := &list[i]; l.rec.Cut && l.rec.URL == "" && err == nil {
			err = readTexts(rows, l.token, &l.rec)
		}
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return corruption(err)
	}
	for i := range list {
		l := &list[i]
		o.verdicts[l.item].First = l.rec.URL
		s.texts.learn(o.c.num, &l.key, l.rec.URL, l.version)
	}
	return nil
}

// moment locates URLs, and returns the rows of the same moment between two groups; nil if the
// store is not usable.
func (s *Store) moment(c *crawl, list []sought) *pebble.Snapshot {
	if s.wait(s.between.TryRLock, s.between.RLocker()) != nil {
		return nil
	}
	defer s.between.RUnlock()
	if s.rlock() != nil {
		return nil
	}
	defer s.mu.RUnlock()
	c.locate(s, list)
	return s.db.NewSnapshot()
}

// fromCache sets the first-seen URLs that the cache has, and returns the others.
func (s *Store) fromCache(o *addOp) (list []sought) {
	for _, i := range o.order {
		it := &o.items[i]
		if o.verdicts[i].Status != store.Duplicate || o.told[int(i)] {
			continue
		}
		text, known, version := s.texts.get(o.c.num, &it.Key, it.URL)
		if known {
			o.verdicts[i].First = text
			continue
		}
		list = append(list, sought{item: i, key: it.Key, version: version})
	}
	return list
}

// texts is a cache, in bounded memory, of the texts of recently queued or requested
// URLs, which saves two disk reads for a duplicate's first-seen URL. Other texts are
// read: the cache may drop any text, and never returns a wrong one. So every step that
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
func (t *texts) put(crawl uint32, k *store.Key, text string) { t.move(crawl, k, text, true) }

// drop notes that the text of a URL has changed.
func (t *texts) drop(crawl uint32, k *store.Key) { t.move(crawl, k, "", false) }

func (t *texts) move(crawl uint32, k *store.Key, text string, kept bool) {
	if !t.on.Load() {
		return
	}
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.version(k)++
	at := placeKey{crawl, *k}
	// Either half may have the text of another URL here, which is as short: it is read again. It must not hide an old one of this URL
	// for a while.
	if !kept || !s.add(at, text) {
		delete(s.young.at, at.short())
	}
	delete(s.old.at, at.short()) // which may have been the young one
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

// add adds a text to the young half if it is short enough, in place of an older one of the URL there.
func (s *textShard) add(at placeKey, text string) bool {
	if len(text) > maxText {
		return false
	}
	if h := &s.young; len(h.texts)+textHead+len(text)+textCost*(len(h.at)+1) > s.room {
		s.young, s.old = s.old, s.young
		s.young.texts = s.young.texts[:0]
		clear(s.young.at)
	}
	s.young.add(at, text)
	return true
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
