package pebblestore

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
)

// heldRows counts the rows of URLs of a crawl that are in a queue or leased.
type heldRows struct{ queued, leased int64 }

// queueRow verifies a row of the queue side.
func (v *verifier) queueRow(key, value []byte) {
	switch {
	case key[0] == tableOrder && len(key) > 5:
		v.queued(key, value)
	case key[0] == tableLease && len(key) == 9:
		v.leased(key, value)
	case key[0] == tableQueue && len(key) >= 5, key[0] == tableName && len(key) == 9, key[0] == tableDone && len(key) == 9+len(store.Key{}):
		if v.s.byNum[binary.BigEndian.Uint32(key[1:])] == nil {
			v.found(key, "a row of a crawl that isn't there")
		}
	case key[0] == tableJournal && len(key) == 9:
		if err := eachState(value, func(string, []byte) {}); err != nil {
			v.found(key, "%v", err)
		}
	case key[0] == tableCrawlQueues && (len(key) == 1 || len(key) == 5):
	default:
		v.found(key, "a row of no table that this version knows")
	}
}

func (v *verifier) queued(key, value []byte) {
	c := v.s.byNum[binary.BigEndian.Uint32(key[1:])]
	if c == nil {
		v.found(key, "a queued URL of a crawl that isn't there")
		return
	}
	priority, at, err := orderPlace(key)
	if err != nil {
		v.found(key, "%v", err)
		return
	}
	rec, err := parseRecord(value, priority, at)
	if err != nil {
		v.found(key, "%v", err)
		return
	}
	v.held(c).queued++
	v.heldKey(key, c, &rec.Key)
}

func (v *verifier) leased(key, value []byte) {
	l, err := parseLease(key, value)
	if err != nil {
		v.found(key, "%v", err)
		return
	}
	c := v.s.byNum[l.crawl]
	if c == nil {
		v.found(key, "a lease of a crawl that isn't there")
		return
	}
	v.held(c).leased++
	v.heldKey(key, c, &l.rec.Key)
}

// heldKey wants a URL that is held to be seen.
func (v *verifier) heldKey(row []byte, c *crawl, k *store.Key) {
	if known, err := c.seen.has(k); err != nil || !known {
		v.found(row, "the URL is held and its key %x isn't in the index (%v): it would be called new", k[:], err)
	}
}

func (v *verifier) held(c *crawl) *heldRows {
	h := v.queues[c.num]
	if h == nil {
		h = &heldRows{}
		v.queues[c.num] = h
	}
	return h
}

// seenValue verifies the value that the queue side gave a seen row.
func (v *verifier) seenValue(row, value []byte) {
	if _, err := parsePointer(value); err != nil {
		v.found(row, "%v", err)
	}
}

// queueCounts compares the rows with the counts, after all rows were read.
func (v *verifier) queueCounts() {
	for _, c := range v.s.crawls {
		var st store.Stats
		c.queues.addStats(&st)
		if h := v.held(c); h.queued+h.leased != st.Held || h.leased != st.InFlight {
			v.found(nil, "crawl %q has rows of %d queued and %d leased URLs; its counts say %d held, %d of them leased",
				c.name, h.queued, h.leased, st.Held, st.InFlight)
		}
	}
}
