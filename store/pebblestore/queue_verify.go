package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/firstseen/firstseen/store"
)

// heldRows counts the rows of URLs of a crawl that are in a queue or leased.
type heldRows struct {
	c              *crawl
	held           int64 // by the counts
	queued, leased int64
	retired        map[uint32]bool
}

const heldText = "the URL is held and its key isn't in the index: it would be called new"

// urlsOfQueue is a queue by its state, and its URLs as they were read.
type urlsOfQueue struct {
	q      *queue
	row    []byte
	n      int64
	levels uint8 // of which URLs were read
}

// journals reads the journals of the snapshot.
func (v *verifier) journals() (err error) {
	var values [][]byte
	if v.firstPlaces, values, err = journalRows(v.snapshot, tablePlaces); err != nil {
		return err
	}
	for _, row := range values {
		if err := eachPlace(row, func(k placeKey, p pointer) { v.places[k] = p }); err != nil {
			return err
		}
	}
	if v.firstJournal, values, err = journalRows(v.snapshot, tableJournal); err != nil {
		return err
	}
	v.states, err = journalStates(v.firstJournal, values, &journal{})
	return err
}

// journalRow reports a row that journals did not read.
func (v *verifier) journalRow(key []byte, first uint64) {
	if binary.BigEndian.Uint64(key[1:]) < first {
		v.found(key, "a journal row before a row that is missing")
	}
}

// crawlOf returns the crawl that a row names, and reports if there is none.
func (v *verifier) crawlOf(key []byte) *heldRows {
	h := v.crawls[binary.BigEndian.Uint32(key[1:])]
	if h == nil {
		v.found(key, "a row of a crawl that isn't there")
	}
	return h
}

// queue notes a queue whose state has queued URLs.
func (v *verifier) queue(key, value []byte) {
	h := v.crawlOf(key)
	if h == nil {
		return
	}
	if st, ok := newer(v.states, key, value); ok {
		value = st.value
	}
	q, err := parseQueue(h.c, string(key[5:]), value)
	if err != nil {
		v.found(key, "%v", err)
		return
	}
	if q.Queued > 0 || q.Levels() != 0 {
		v.queues[queueNum{h.c.num, q.id}] = &urlsOfQueue{q: q, row: bytes.Clone(key)}
	}
}

func (v *verifier) queued(key, value []byte) error {
	h := v.crawlOf(key)
	if h == nil {
		return nil
	}
	rec, err := recordAt(key, value)
	if err != nil {
		v.found(key, "%v", err)
		return nil
	}
	num, priority, at := queueNumber(key), rec.Priority, rec.Place()
	if h.retired[num] {
		return nil // it is being forgotten, and so is its key, unless that was queued elsewhere
	}
	h.queued++
	v.want(h.c, rec.Key, key, heldText)
	if u := v.queues[queueNum{h.c.num, num}]; u != nil {
		u.n++
		if u.levels&(1<<priority) == 0 && u.q.Head(priority) != at {
			v.found(key, "the first URL of priority %d is not the one that the queue's state names: URLs would not be served", priority)
		}
		u.levels |= 1 << priority
	} else {
		v.found(key, "the URL is in a queue that holds none by its state: it would not be served")
	}
	return v.wantPlace(h, &rec.Key, key, pointer{num, priority, at})
}

// wantPlace verifies that a key leads to where its URL is; to the queue only if p has no
// arrival number.
func (v *verifier) wantPlace(h *heldRows, k *store.Key, row []byte, p pointer) error {
	have, err := v.placeOf(h.c, k)
	if err == nil && (have.queue != p.queue || p.at.Seq > 0 && have != p) {
		v.found(row, "the place of the URL's key is another: it cannot be found by its key")
	}
	return err
}

// placeOf returns the place of a key, the zero pointer if it has none.
func (v *verifier) placeOf(c *crawl, k *store.Key) (pointer, error) {
	if p, ok := v.places[placeKey{c.num, *k}]; ok {
		return p, nil
	}
	p, err := readPlace(v.snapshot, c.num, k)
	if errors.Is(err, store.ErrCorrupt) {
		err = nil // place reports what can't be read
	}
	return p, err
}

func (v *verifier) leased(key, value []byte) error {
	l, err := parseLease(key, value)
	if err != nil {
		v.found(key, "%v", err)
		return nil
	}
	h := v.crawls[l.crawl]
	if h == nil {
		v.found(key, "a lease of a crawl that isn't there")
		return nil
	}
	h.leased++
	if h.retired[l.queue] {
		return nil
	}
	v.want(h.c, l.rec.Key, key, heldText)
	return v.wantPlace(h, &l.rec.Key, key, pointer{queue: l.queue})
}

// ended verifies the row of a URL that was completed or dropped.
func (v *verifier) ended(key []byte) error {
	h := v.crawlOf(key)
	if h == nil || h.retired[queueNumber(key)] {
		return nil
	}
	k := store.Key(key[9:])
	return v.wantPlace(h, &k, key, pointer{queue: queueNumber(key)})
}

func (v *verifier) place(key, value []byte) {
	v.crawlOf(key)
	if _, err := parsePointer(value); err != nil {
		v.found(key, "%v", err)
	}
}

// queueCounts is counts for the queue side.
func (v *verifier) queueCounts() {
	for _, h := range v.crawls {
		if h.queued+h.leased != h.held {
			v.found(nil, "crawl %q has rows of %d queued and %d leased URLs; its counts say %d held",
				h.c.name, h.queued, h.leased, h.held)
		}
	}
	for _, u := range v.queues {
		if u.n != u.q.Queued || u.levels != u.q.Levels() {
			v.found(u.row, "the queue has %d URLs, of priorities %08b; its state says %d, of %08b", u.n, u.levels, u.q.Queued, u.q.Levels())
		}
	}
}
