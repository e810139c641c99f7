package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Lookup implements store.Store.
func (s *Store) Lookup(ctx context.Context, crawl string, key store.Key) (store.Entry, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return store.Entry{}, err
	}
	e, err := ask(ctx, s, func(tx *txn) (e store.Entry, err error) {
		c, known := s.crawls[crawl], false
		if c != nil {
			known, err = c.seen.has(&key)
		}
		if err == nil && !known {
			err = fmt.Errorf("cannot look up key %x: %w", key[:], store.ErrNotFound)
		}
		if err != nil {
			return e, err
		}
		f, err := tx.findOne(c, &key)
		return f.entry(c, &key), err
	})
	if errors.Is(err, store.ErrNotFound) {
		paths, fileErr := s.seenIn(crawl, []store.Key{key})
		if fileErr == nil && paths != nil {
			return store.Entry{Key: key, State: store.SeenOnly, Crawl: crawl}, nil
		}
		err = cmp.Or(fileErr, err)
	}
	return e, err
}

// QueueInfo implements store.Store.
func (s *Store) QueueInfo(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	return ask(ctx, s, func(tx *txn) (info store.QueueInfo, err error) {
		if c := s.crawls[crawl]; c != nil {
			if c.queues.AdvanceSome(sched.Now(tx.now), tx.left.rows) == 0 {
				return info, errMore
			}
			q, err := tx.oldQueue(c, queue)
			if err != nil {
				return info, err
			}
			if q != nil && q.Exists() {
				return q.Info(), nil
			}
		}
		return info, fmt.Errorf("cannot find queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	})
}

// listRows bounds the rows of a page, which a step returns: a caller may want no more than the first.
const listRows = 512

// errPage ends a walk whose page is full.
var errPage = errors.New("page is full")

// walk calls f for rows, until the budget is spent or f returns errPage. It returns the row to continue
// from; hi if there is no other.
func (s *Store) walk(lo, hi []byte, left *budget, f func(key, value []byte) error) (next []byte, err error) {
	next = hi
	err = s.scan(lo, hi, func(key, value []byte) error {
		if left.spent() {
			next = bytes.Clone(key)
			return errPage
		}
		left.rows--
		left.bytes -= len(key) + len(value)
		return f(key, value)
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return next, err
}

// Queues implements store.Store. A queue that comes or goes while the listing
// runs may be in it or not.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		name, err := sched.CrawlOfQueue(crawl, after)
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
		list, err := ask(ctx, s, func(tx *txn) (list []T, err error) {
			list, more, err = page(tx)
			return list, err
		})
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
	left := budget{listRows, partBytes}
	for _, c := range tx.s.selected(at.crawl, at.in) {
		if left.spent() {
			return list, true, nil
		}
		left.rows--
		if c.name != at.in {
			if at.in != "" {
				at.after = ""
			}
			at.in = c.name
		}
		if tx.left.rows = c.queues.AdvanceSome(sched.Now(tx.now), tx.left.rows); tx.left.rows == 0 {
			return list, true, nil
		}
		err := tx.queuesAfter(c, at.after, &left, func(q *queue) error {
			at.after = q.Name
			if q.Exists() {
				list = append(list, q.Info())
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return list, left.spent(), nil
}

// queuesAfter calls f for the queues of c after one in order of name, for all after "", until the
// budget is spent or f returns errPage. A queue that holds nothing is not in memory.
func (tx *txn) queuesAfter(c *crawl, after string, left *budget, f func(q *queue) error) error {
	lo := appendQueueRow(nil, c.num, after)
	if after != "" {
		lo = append(lo, 0)
	}
	_, err := tx.s.walk(lo, afterNumbered(tableQueue, c.num), left, func(key, value []byte) (err error) {
		q := c.queues.loaded[string(key[5:])]
		if q == nil {
			if q, err = parseQueue(c, string(key[5:]), value); err != nil {
				return err
			}
		}
		return f(q)
	})
	return err
}
