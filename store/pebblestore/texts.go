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
	textChunk  = 64 << 10
	textWays   = 8
	textHead   = 4 + 16 + 4 // crawl, key and length, before each text
	maxText    = 32 << 10   // longer texts are not kept

	// The table of a shard grows from firstBuckets to mostBuckets: a million
	// URLs in all.
	firstBuckets = 1 << 6
	mostBuckets  = 1 << 14
)

// noText stands for the length of a text that isn't kept by the store.
const noText = 1<<32 - 1

// textShard is a ring of texts, which overwrites the oldest, and a table of where
// they are.
type textShard struct {
	mu     sync.Mutex
	chunks [][]byte
	max    int    // chunks
	end    uint64 // where the next text goes, counted from the first ever
	table  []textBucket
	used   int    // places taken since those that live were counted, and these
	clock  uint64 // moves with each put and drop
}

// textBucket has room for some texts of keys that are alike in some bits.
type textBucket struct {
	places  [textWays]textPlace
	version uint64 // the clock at its latest put or drop
}

// textPlace is where a text begins in the ring, and 16 bits of its key, so that
// hardly any other text is read. 0 is free; later texts are larger.
type textPlace uint64

func placeOf(at uint64, k *store.Key) textPlace { return textPlace((at+1)<<16 | uint64(textTag(k))) }

func textTag(k *store.Key) uint16 { return binary.LittleEndian.Uint16(k[12:]) }

func (p textPlace) at() uint64 { return uint64(p)>>16 - 1 }

// newTexts returns a cache of about so many bytes of texts, and at least 2 MiB.
func newTexts(bytes int64) *texts {
	t := &texts{}
	for i := range t.shards {
		t.shards[i].max = max(2, int(bytes/textShards/textChunk))
	}
	return t
}

// want begins the keeping of texts.
func (t *texts) want() {
	if !t.on.Load() {
		t.on.Store(true)
	}
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
	s.forget(crawl, k)
	s.add(crawl, k, text, uint32(len(text)))
}

// drop notes that the text of a URL has changed.
func (t *texts) drop(crawl uint32, k *store.Key) {
	if !t.on.Load() {
		return
	}
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(crawl, k)
}

// get returns the text of a URL, "" for one whose text isn't kept. If the cache
// does not have it, the version is for learn. A text equal to the one given is
// returned as that, without a copy.
func (t *texts) get(crawl uint32, k *store.Key, like string) (text string, known bool, version uint64) {
	if !t.on.Load() {
		return "", false, 0
	}
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(k)
	i := s.find(b, crawl, k)
	if i < 0 {
		return "", false, b.version
	}
	e := s.entry(b.places[i].at())
	n := binary.LittleEndian.Uint32(e[20:])
	switch {
	case n == noText:
		return "", true, 0
	case string(e[textHead:textHead+n]) == like:
		return like, true, 0
	}
	return string(e[textHead : textHead+n]), true, 0
}

// learn adds the text of a URL as it was read, unless the URL was put or dropped since get
// returned the version.
func (t *texts) learn(crawl uint32, k *store.Key, text string, kept bool, version uint64) {
	if !t.on.Load() {
		return
	}
	n := uint32(len(text))
	if !kept {
		text, n = "", noText
	}
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bucket(k); b.version == version && s.find(b, crawl, k) < 0 {
		s.add(crawl, k, text, n)
	}
}

func (s *textShard) bucket(k *store.Key) *textBucket {
	if s.table == nil {
		s.table = make([]textBucket, firstBuckets)
	}
	return &s.table[int(binary.LittleEndian.Uint32(k[8:]))&(len(s.table)-1)]
}

// count counts the places of texts that are still there: most places may be of texts
// that the ring has overwritten.
func (s *textShard) count() {
	s.used = 0
	for i := range s.table {
		for _, p := range s.table[i].places {
			if s.lives(p) {
				s.used++
			}
		}
	}
}

// grow doubles the table. A text that is being read now is not learned.
func (s *textShard) grow() {
	old := s.table
	s.table = make([]textBucket, 2*len(old))
	s.clock++
	for i := range s.table {
		s.table[i].version = s.clock
	}
	s.used = 0
	for i := range old {
		for _, p := range old[i].places {
			if s.lives(p) {
				k := store.Key(s.entry(p.at())[4:20])
				s.place(s.bucket(&k), p)
			}
		}
	}
}

// place notes where a text begins: in a free place, or instead of the oldest.
func (s *textShard) place(b *textBucket, p textPlace) {
	oldest := 0
	for i := range b.places {
		if b.places[i] < b.places[oldest] {
			oldest = i
		}
	}
	b.places[oldest] = p
	s.used++
}

// entry returns the bytes from the beginning of a text on.
func (s *textShard) entry(at uint64) []byte {
	return s.chunks[at/textChunk%uint64(s.max)][at%textChunk:]
}

// lives reports whether the ring didn't come round to a text.
func (s *textShard) lives(p textPlace) bool {
	return p != 0 && p.at()/textChunk+uint64(s.max) > s.end/textChunk
}

// find returns the place of a key in its bucket, or -1.
func (s *textShard) find(b *textBucket, crawl uint32, k *store.Key) int {
	tag := textTag(k)
	for i, p := range b.places {
		if uint16(p) == tag && s.lives(p) {
			if e := s.entry(p.at()); binary.LittleEndian.Uint32(e) == crawl && store.Key(e[4:20]) == *k {
				return i
			}
		}
	}
	return -1
}

func (s *textShard) forget(crawl uint32, k *store.Key) {
	b := s.bucket(k)
	s.clock++
	b.version = s.clock
	if i := s.find(b, crawl, k); i >= 0 {
		b.places[i] = 0
	}
}

// add puts a text at the end of the ring.
func (s *textShard) add(crawl uint32, k *store.Key, text string, n uint32) {
	if len(text) > maxText {
		return
	}
	if s.used > textWays/2*len(s.table) && len(s.table) < mostBuckets {
		if s.count(); s.used > textWays/4*len(s.table) {
			s.grow()
		}
	}
	e, at := s.room(textHead + len(text))
	binary.LittleEndian.PutUint32(e, crawl)
	copy(e[4:], k[:])
	binary.LittleEndian.PutUint32(e[20:], n)
	copy(e[textHead:], text)
	s.place(s.bucket(k), placeOf(at, k))
}

// room returns the next n bytes of the ring, which are in one chunk.
func (s *textShard) room(n int) ([]byte, uint64) {
	if int(s.end%textChunk)+n > textChunk {
		s.end += textChunk - s.end%textChunk
	}
	if i := int(s.end / textChunk % uint64(s.max)); i == len(s.chunks) {
		s.chunks = append(s.chunks, make([]byte, textChunk))
	}
	at := s.end
	s.end += uint64(n)
	return s.entry(at)[:n], at
}
