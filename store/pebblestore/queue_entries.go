package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Entries implements store.Store. A URL that moves while the listing runs may
// be in it twice or not at all; one that doesn't is in it once.
func (s *Store) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		name, err := sched.CrawlName(crawl)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		at := &entryCursor{crawl: name, only: queue}
		paged(ctx, s, at.page, yield)
	}
}

// part is a part of the listing of a queue.
type part int

const (
	partEnded part = iota
	partLeases
	partQueued
	partEnd
)

// entryCursor is how far a listing of URLs has come.
type entryCursor struct {
	crawl  string
	only   string       // the queue asked for, or "" for all
	queue  string       // the queue it is in, or came by last
	in     *sched.Queue // the same, for one page
	visits int          // of rows that this page may still make
	part   part
	from   []byte // the row to begin with; nil for the first of the part
	// leases are those of the crawl by queue that are yet to be listed, as they were when they
	// were first asked for; nil until then.
	leases map[*sched.Queue][]*sched.Lease
	sorted *sched.Queue // whose leases are in order
}

// page returns the next entries, and whether there may be more.
func (at *entryCursor) page(tx *txn) ([]store.Entry, bool, error) {
	c := tx.s.crawls[at.crawl]
	if c == nil {
		return nil, false, nil
	}
	var list []store.Entry
	at.in, at.visits = nil, listVisits
	for len(list) < listPage && at.visits > 0 {
		q, err := at.current(tx, c)
		if q == nil || err != nil {
			return list, at.visits <= 0 && err == nil, err
		}
		if list, err = at.more(tx, c, q, list); err != nil {
			return list, false, err
		}
	}
	return list, true, nil
}

// current returns the queue that the listing is in, nil at its end and when no visits are
// left.
func (at *entryCursor) current(tx *txn, c *crawl) (*sched.Queue, error) {
	if at.queue == "" && at.only != "" {
		at.queue = at.only
	}
	switch {
	case at.queue != "" && at.part < partEnd:
		if at.in == nil {
			at.in = tx.oldQueue(c, at.queue)
		}
		return at.in, tx.err
	case at.only != "":
		at.visits = max(at.visits, 1) // this is the end
		return nil, nil
	}
	q, name, err := tx.nextQueue(c, at.queue, &at.visits)
	at.queue, at.part = name, partEnd
	if q != nil {
		at.in, at.part, at.from = q, 0, nil
	}
	return q, err
}

// more appends the next entries of a queue, up to the end of a part or a page.
func (at *entryCursor) more(tx *txn, c *crawl, q *sched.Queue, list []store.Entry) ([]store.Entry, error) {
	num := uint32(q.ID)
	switch at.part {
	case partLeases:
		return at.leased(tx, c, q, list), nil
	case partQueued:
		return at.rows(tx, list, appendOrderPrefix(nil, c.num, num), appendOrderPrefix(nil, c.num, num+1),
			func(key, value []byte) (store.Entry, error) {
				rec, err := recordAt(key, value)
				return rec.Entry(q), err
			})
	case partEnded:
		return at.rows(tx, list, appendDonePrefix(nil, c.num, num), appendDonePrefix(nil, c.num, num+1),
			func(_, value []byte) (store.Entry, error) {
				rec, state, err := parseDone(value)
				e := rec.Entry(q)
				e.State = state
				return e, err
			})
	}
	at.part++
	return list, nil
}

// rows appends the entries of the rows between lo and hi that come next.
func (at *entryCursor) rows(tx *txn, list []store.Entry, lo, hi []byte, read func(key, value []byte) (store.Entry, error)) ([]store.Entry, error) {
	if bytes.HasPrefix(at.from, lo) { // or the queue was forgotten, and its name has another number
		lo = at.from
	}
	err := tx.s.scan(lo, hi, func(key, value []byte) error {
		if len(list) >= listPage || at.visits <= 0 {
			at.from = append([]byte(nil), key...)
			return errPage
		}
		at.visits--
		e, err := read(key, value)
		list = at.append(list, e)
		return err
	})
	if errors.Is(err, errPage) {
		return list, nil
	}
	at.part, at.from = at.part+1, nil
	return list, err
}

// leased appends the leases of a queue that come next, earliest end first.
func (at *entryCursor) leased(tx *txn, c *crawl, q *sched.Queue, list []store.Entry) []store.Entry {
	left := at.leasesOf(c, q)
	for len(left) > 0 && len(list) < listPage && at.visits > 0 {
		l := left[0]
		left = left[1:]
		at.visits--
		if c.queues.Leases[l.Key] == l { // it has not ended since
			list = at.append(list, l.Entry(tx.whole(l)))
		}
	}
	if len(left) > 0 {
		at.leases[q] = left
		return list
	}
	delete(at.leases, q)
	at.part++
	return list
}

// leasesOf returns the leases of a queue that are yet to be listed, earliest end first.
func (at *entryCursor) leasesOf(c *crawl, q *sched.Queue) []*sched.Lease {
	if q.Leased() == 0 {
		return nil
	}
	if at.leases == nil { // one walk a listing, of a crawl that may have as many queues as leases
		at.leases = make(map[*sched.Queue][]*sched.Lease)
		for _, l := range c.queues.Leases {
			at.leases[l.Queue] = append(at.leases[l.Queue], l)
		}
	}
	if at.sorted != q {
		at.sorted = q
		slices.SortFunc(at.leases[q], func(a, b *sched.Lease) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
	}
	return at.leases[q]
}

// append appends an entry. Each KiB of its texts counts as a visit.
func (at *entryCursor) append(list []store.Entry, e store.Entry) []store.Entry {
	at.visits -= (len(e.URL) + len(e.Meta)) >> 10
	return append(list, e)
}
