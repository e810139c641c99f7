package pebblestore

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// heldRows counts the rows of URLs of a crawl that are in a queue or leased.
type heldRows struct {
	c              *crawl
	want           store.Stats
	queued, leased int64
	retired        map[uint32]bool
}

const heldText = "the URL is held and its key isn't in the index: it would be called new"

// queueRow verifies a row of the queue side.
func (v *verifier) queueRow(key, value []byte) error {
	switch {
	case key[0] == tablePlace && len(key) == keyRowLen:
		v.place(key, value)
	case key[0] == tableOrder && len(key) > 5:
		return v.queued(key, value)
	case key[0] == tableLease && len(key) == 9:
		v.leased(key, value)
	case key[0] == tableQueue && len(key) >= 5, (key[0] == tableName || key[0] == tableRetired) && len(key) == 9, key[0] == tableDone && len(key) == 9+len(store.Key{}):
		if v.crawls[binary.BigEndian.Uint32(key[1:])] == nil {
			v.found(key, "a row of a crawl that isn't there")
		}
	case key[0] == tableJournal && len(key) == 9:
		if err := eachState(value, func(string, []byte) {}); err != nil {
			v.found(key, "%v", err)
		}
	case key[0] == tablePlaces && len(key) == 9:
		if err := eachPlace(value, func(placeKey, pointer) {}); err != nil {
			v.found(key, "%v", err)
		}
	case key[0] == tableCrawlQueues && (len(key) == 1 || len(key) == 5):
	default:
		v.found(key, "a row of no table that this version knows")
	}
	return nil
}

func (v *verifier) queued(key, value []byte) error {
	h := v.crawls[binary.BigEndian.Uint32(key[1:])]
	if h == nil {
		v.found(key, "a queued URL of a crawl that isn't there")
		return nil
	}
	priority, at, err := orderPlace(key)
	if err != nil {
		v.found(key, "%v", err)
		return nil
	}
	rec, err := parseRecord(value, priority, at)
	if err != nil {
		v.found(key, "%v", err)
		return nil
	}
	if h.retired[queueNumber(key)] {
		return nil // it is being forgotten, and so is its key, unless that was queued elsewhere
	}
	h.queued++
	v.want(h.c, rec.Key, key, heldText)
	have, err := v.placeOf(h.c, &rec.Key)
	if want := (pointer{queueNumber(key), priority, at}); err == nil && have != want {
		v.found(key, "the URL is queued and the place of its key is another: it cannot be found by its key")
	}
	return err
}

// placeOf returns the place of a key, the zero pointer if it has none.
func (v *verifier) placeOf(c *crawl, k *store.Key) (pointer, error) {
	if p, ok := v.places[placeKey{c.num, *k}]; ok {
		return p, nil
	}
	row, err := v.get(appendKeyRow(nil, tablePlace, c.num, k))
	if err != nil || row == nil {
		return pointer{}, err
	}
	p, _ := parsePointer(row) // place reports what can't be read
	return p, nil
}

func (v *verifier) leased(key, value []byte) {
	l, err := parseLease(key, value)
	if err != nil {
		v.found(key, "%v", err)
		return
	}
	h := v.crawls[l.crawl]
	if h == nil {
		v.found(key, "a lease of a crawl that isn't there")
		return
	}
	h.leased++
	v.want(h.c, l.rec.Key, key, heldText)
}

// place verifies the place of a URL.
func (v *verifier) place(key, value []byte) {
	if v.crawls[binary.BigEndian.Uint32(key[1:])] == nil {
		v.found(key, "the place of a URL of a crawl that isn't there")
	}
	if _, err := parsePointer(value); err != nil {
		v.found(key, "%v", err)
	}
}

// get returns a row of the snapshot, nil if it isn't there.
func (v *verifier) get(key []byte) ([]byte, error) {
	row, closer, err := v.snapshot.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	row = append([]byte{}, row...)
	return row, closer.Close()
}

// queueCounts compares the rows with the counts, after all rows were read.
func (v *verifier) queueCounts() {
	for _, h := range v.crawls {
		if h.queued+h.leased != h.want.Held {
			v.found(nil, "crawl %q has rows of %d queued and %d leased URLs; its counts say %d held",
				h.c.name, h.queued, h.leased, h.want.Held)
		}
	}
}
