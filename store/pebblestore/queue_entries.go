package pebblestore

import (
	"bytes"
	"context"
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

// entryCursor is how far a listing of URLs has come.
type entryCursor struct {
	crawl string
	only  string // the queue asked for, or "" for all
	queue string // the queue it is in, or came by last
	in    bool   // it is in the queue
	part  int    // the index of one of entryTables
	from  []byte // the row to begin with; nil for the first of the table
	// leases are those of the queue that are yet to be listed, as they were when they were first
	// asked for; nil until then.
	leases []*sched.Lease
}

// entryTables are the tables with the URLs of a queue, in the order in which they are listed. Leases
// are listed from memory.
const entryTables = string(tableDone) + string(tableLease) + string(tableOrder)

// entryPage is some entries of a listing.
type entryPage struct {
	tx   *txn
	c    *crawl
	list []store.Entry
	left budget
}

// page returns the next entries, and whether there may be more.
func (at *entryCursor) page(tx *txn) ([]store.Entry, bool, error) {
	p := &entryPage{tx: tx, c: tx.s.crawls[at.crawl], left: budget{listRows, partBytes}}
	if p.c == nil {
		return nil, false, nil
	}
	for !p.left.spent() {
		q, err := at.next(p)
		if q == nil || err != nil {
			return p.list, p.left.spent(), err
		}
		if err := at.more(p, q); err != nil {
			return p.list, false, err
		}
	}
	return p.list, true, nil
}

// next returns the queue that the listing is in, or comes to; nil at its end and when nothing is left
// of the page.
func (at *entryCursor) next(p *entryPage) (q *queue, err error) {
	switch {
	case at.in:
		return p.tx.oldQueue(p.c, at.queue)
	case at.only != "" && at.queue != "":
		return nil, nil
	case at.only != "":
		at.queue = at.only
		q, err = p.tx.oldQueue(p.c, at.queue)
	default:
		err = p.tx.queuesAfter(p.c, at.queue, &p.left, func(next *queue) error {
			if at.queue = next.Name; !next.Used() {
				return nil
			}
			q = next
			return errPage
		})
	}
	at.in, at.part, at.from, at.leases = q != nil, 0, nil, nil
	return q, err
}

// more appends the next entries of a queue, up to its end or that of the page.
func (at *entryCursor) more(p *entryPage, q *queue) (err error) {
	for ; at.part < len(entryTables); at.part++ {
		if table := entryTables[at.part]; table == tableLease {
			err = at.leased(p, q)
		} else {
			err = at.rows(p, q, table)
		}
		if err != nil || at.from != nil || at.leases != nil {
			return err
		}
	}
	at.in = false
	return nil
}

// rows appends the entries of the next rows of a queue in a table.
func (at *entryCursor) rows(p *entryPage, q *queue, table byte) error {
	lo, hi := queueBounds(table, p.c.num, q.id)
	if bytes.HasPrefix(at.from, lo) { // or the queue was forgotten, and its name has another number
		lo = at.from
	}
	next, err := p.tx.s.walk(lo, hi, &p.left, func(key, value []byte) error {
		rec, state, err := urlOf(key, value)
		e := rec.Entry(&q.Queue)
		e.State = state
		p.list = append(p.list, e)
		return err
	})
	if at.from = nil; !bytes.Equal(next, hi) {
		at.from = next
	}
	return err
}

// leased appends the leases of a queue that come next, earliest end first.
func (at *entryCursor) leased(p *entryPage, q *queue) error {
	if at.leases == nil {
		at.leases = q.Leases(q.Leased())
		slices.SortFunc(at.leases, (*sched.Lease).Compare)
	}
	for len(at.leases) > 0 && !p.left.spent() {
		l := at.leases[0]
		at.leases = at.leases[1:]
		p.left.rows--
		if p.c.queues.Leases[l.Key] == l { // it has not ended since
			rec, err := p.tx.whole(l)
			if err != nil {
				return err
			}
			e := l.Entry(rec)
			p.left.bytes -= len(e.URL) + len(e.Meta)
			p.list = append(p.list, e)
		}
	}
	if len(at.leases) == 0 {
		at.leases = nil
	}
	return nil
}
