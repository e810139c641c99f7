package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// readOp is a step that only reads. It goes through the committer like any
// other, so that it sees every step before it whole, and none that might still
// be lost.
type readOp func(tx *txn) error

func (readOp) weight() int { return 1 }

func (read readOp) apply(tx *txn) error {
	tx.flush()
	err := read(tx)
	tx.file()
	return err
}

// Lookup implements store.Store.
func (s *Store) Lookup(ctx context.Context, crawl string, key store.Key) (store.Entry, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return store.Entry{}, err
	}
	var e store.Entry // the committer's, if the store dies
	err = s.do(ctx, readOp(func(tx *txn) error {
		c := s.crawls[crawl]
		known := false
		if c != nil {
			var err error
			if known, err = c.seen.has(&key); err != nil {
				return err
			}
		}
		if !known {
			return fmt.Errorf("cannot look up key %x: %w", key[:], store.ErrNotFound)
		}
		f := tx.find(c, &key)
		e = f.entry(c, &key)
		return nil
	}))
	if errors.Is(err, store.ErrNotFound) {
		paths, fileErr := s.seenIn(crawl, []store.Key{key})
		if fileErr == nil && paths != nil {
			return store.Entry{Key: key, State: store.SeenOnly, Crawl: crawl}, nil
		}
		err = cmp.Or(fileErr, err)
	}
	if err != nil {
		return store.Entry{}, err
	}
	return e, nil
}

// QueueInfo implements store.Store.
func (s *Store) QueueInfo(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	var info store.QueueInfo // the committer's, if the store dies
	err = s.do(ctx, readOp(func(tx *txn) error {
		c := s.crawls[crawl]
		if c == nil {
			return noQueue(crawl, queue)
		}
		c.queues.Advance(sched.Now(tx.now))
		q := tx.oldQueue(c, queue)
		if q == nil || !q.Exists() {
			return noQueue(crawl, queue)
		}
		info = q.Info()
		return nil
	}))
	if err != nil {
		return store.QueueInfo{}, err
	}
	return info, nil
}

func noQueue(crawl, queue string) error {
	return fmt.Errorf("cannot find queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
}

// listPage is how many rows of a listing are read in one step: other callers
// wait no longer than that takes, and once in a listing by [Store.Entries] for a walk over
// the leases of the crawl.
const listPage = 512

// listVisits bounds the rows, leases and crawls that a step of a listing looks at, also where
// there is little to list: a few milliseconds. Each KiB of texts in it counts as a row.
const listVisits = 1 << 10

// Queues implements store.Store. A queue that comes or goes while the listing
// runs may be in it or not.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		name, err := sched.CheckListing(crawl, after)
		if err != nil {
			yield(store.QueueInfo{}, err)
			return
		}
		at := &queueCursor{crawl: name, after: after}
		paged(ctx, s, at.page, yield)
	}
}

// paged yields what page returns, one step of the store a page, until a page
// is the last.
func paged[T any](ctx context.Context, s *Store, page func(tx *txn) ([]T, bool, error), yield func(T, error) bool) {
	for more := true; more; {
		var list []T
		err := s.do(ctx, readOp(func(tx *txn) (err error) {
			list, more, err = page(tx)
			return err
		}))
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// queueCursor is how far a listing of queues has come.
type queueCursor struct {
	crawl string // that the caller named, or all
	in    string // the crawl it is in, when it has begun
	after string // the queue listed last
}

// page returns the next queues, and whether there may be more.
func (at *queueCursor) page(tx *txn) (list []store.QueueInfo, more bool, err error) {
	visits := listVisits
	for _, c := range tx.s.fromCrawl(at.crawl, at.in) {
		if visits--; visits <= 0 || len(list) >= listPage {
			return list, true, nil
		}
		if c.name != at.in {
			if at.in != "" {
				at.after = ""
			}
			at.in = c.name
		}
		c.queues.Advance(sched.Now(tx.now))
		if list, err = at.list(tx, c, list, &visits); err != nil || len(list) >= listPage || visits <= 0 {
			return list, true, err
		}
	}
	return list, false, nil
}

// list appends queues of one crawl.
func (at *queueCursor) list(tx *txn, c *crawl, list []store.QueueInfo, visits *int) ([]store.QueueInfo, error) {
	err := tx.s.scan(appendAfter(c.num, at.after), afterNumbered(tableQueue, c.num), func(key, value []byte) error {
		if *visits <= 0 || len(list) >= listPage {
			return errPage
		}
		*visits--
		q, err := tx.listed(c, key, value)
		if err != nil {
			return err
		}
		at.after = q.Name
		if q.Exists() {
			list = append(list, q.Info())
		}
		return nil
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return list, err
}

// errPage ends a scan whose page is full.
var errPage = errors.New("page is full")

// appendAfter returns the key after the row of a queue, or the first row of
// all queues of the crawl for "".
func appendAfter(crawl uint32, after string) []byte {
	key := appendQueueRow(nil, crawl, after)
	if after != "" {
		key = append(key, 0)
	}
	return key
}

// listed returns the queue of a row, which is in memory if it holds something.
func (tx *txn) listed(c *crawl, key, value []byte) (*sched.Queue, error) {
	qs := &c.queues
	if q := qs.loaded[string(key[5:])]; q != nil {
		return q, nil
	}
	return parseQueue(qs.Crawl, string(key[5:]), value)
}

// nextQueue returns the first queue of c after one in order of name, and the name it came
// to; nil if there is none, or if no visits are left.
func (tx *txn) nextQueue(c *crawl, after string, visits *int) (next *sched.Queue, at string, err error) {
	at = after
	err = tx.s.scan(appendAfter(c.num, after), afterNumbered(tableQueue, c.num), func(key, value []byte) error {
		if *visits--; *visits < 0 {
			return errPage
		}
		q, err := tx.listed(c, key, value)
		if err != nil {
			return err
		}
		at = q.Name
		if !q.Used() {
			return nil
		}
		next = q
		return errPage
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return next, at, err
}
