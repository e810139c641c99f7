package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// importKeys is how many keys an import records in one step: the committer takes
// some 40 ms to look them up.
const importKeys = 1 << 19

// ImportSorted records keys that ascend strictly, several million a second: the
// new ones are written as tables that go into the database as they are, without
// log, write buffer or compaction. It returns how many keys it read and how
// many were new. Every half million is one durable step, whose table is written
// beforehand, so that other steps go on; they wait while the index takes the keys in,
// a twentieth of a second. Only where keys are recorded by others just before their
// import, the table is written again and they wait for that, too.
//
// Out of order keys return store.ErrInvalid. The keys before an error are
// recorded.
func (s *Store) ImportSorted(ctx context.Context, crawl string, keys iter.Seq2[store.Key, error], opt store.SeeOptions) (read, fresh int64, err error) {
	crawl, err = sched.CrawlName(crawl)
	if err != nil {
		return 0, 0, err
	}
	m := &importer{s: s, ctx: ctx, crawl: crawl, opt: opt}
	err = m.all(keys)
	if last := m.await(); err == nil {
		err = last
	}
	return m.read, m.fresh, err
}

// importer brings keys in, a part at a time: while the committer has one, it writes
// the table of the next.
type importer struct {
	s           *Store
	ctx         context.Context
	crawl       string
	opt         store.SeeOptions
	gen         *generation // the import's own, so that its tables overlap no others
	sift        bool        // the next part may have keys that are known
	under       *importOp   // what the committer has
	answer      chan error
	read, fresh int64
}

// all imports keys, and leaves the last part under way.
func (m *importer) all(keys iter.Seq2[store.Key, error]) error {
	part, last := make([]store.Key, 0, importKeys), store.Key{}
	for k, err := range keys {
		if err == nil && m.read+int64(len(part)) > 0 && last.Compare(k) >= 0 {
			err = fmt.Errorf("cannot import; got key %x after %x; want ascending ones: %w", k, last, store.ErrInvalid)
		}
		if err != nil {
			return err
		}
		if last, part = k, append(part, k); len(part) == cap(part) {
			if part, err = m.record(part); err != nil {
				return err
			}
		}
	}
	if len(part) == 0 {
		return m.s.usable()
	}
	_, err := m.record(part)
	return err
}

// record hands a part to the committer, and returns memory for the next.
func (m *importer) record(keys []store.Key) ([]store.Key, error) {
	o := &importOp{crawl: m.crawl, opt: m.opt, read: int64(len(keys)), keys: keys}
	err := m.prepare(o)
	if last := m.await(); err == nil {
		err = last
	}
	if err != nil {
		return nil, errors.Join(err, m.s.removeTable(o.table))
	}
	var free []store.Key
	if m.under != nil {
		free = m.under.keys[:0]
	}
	if cap(free) < importKeys {
		free = make([]store.Key, 0, importKeys)
	}
	m.under, m.answer = o, make(chan error, 1)
	go func() { m.answer <- m.s.do(m.ctx, o) }()
	return free, nil
}

// await waits for what the committer has.
func (m *importer) await() error {
	if m.answer == nil {
		return nil
	}
	err := <-m.answer
	m.answer = nil
	if err != nil {
		if !errors.Is(err, store.ErrFailed) {
			err = errors.Join(err, m.s.removeTable(m.under.table))
		}
		return err
	}
	m.read += m.under.read
	m.fresh += m.under.n
	m.gen = m.under.gen
	m.sift = m.sift || m.under.again
	return nil
}

// prepare sifts the keys of o, if some may be known, and writes their table.
func (m *importer) prepare(o *importOp) error {
	done, err := m.s.linger()
	if err != nil {
		return err
	}
	defer done()
	if m.gen == nil {
		if err := m.begin(); err != nil {
			return err
		}
	}
	if m.sift {
		n := len(o.keys)
		if o.keys, err = m.unknown(o.keys); err != nil {
			return err
		}
		m.sift = len(o.keys) < n
	}
	if o.gen = m.gen; len(o.keys) == 0 {
		return nil
	}
	if o.table, err = m.s.seenTable(m.gen, o.keys); err != nil {
		m.s.die(err) // as when any other write fails
		return m.s.failure()
	}
	return nil
}

// begin makes the crawl, and a generation before the one that takes new keys.
func (m *importer) begin() error {
	o := &beginImport{crawl: m.crawl}
	if err := m.s.do(m.ctx, o); err != nil {
		return err
	}
	m.gen, m.sift = o.gen, o.known
	return nil
}

type beginImport struct {
	crawl string
	gen   *generation
	known bool // the crawl has keys
}

func (o *beginImport) weight() int { return 1 }

func (o *beginImport) apply(tx *txn) error {
	c := tx.crawl(o.crawl, true)
	o.known = c.count() > 0
	o.gen = tx.importGeneration(c)
	return nil
}

// importGeneration makes a generation before the one that takes new keys.
func (tx *txn) importGeneration(c *crawl) *generation {
	last := tx.generation(c)
	g := tx.addGeneration(c)
	n := len(c.gens)
	c.gens[n-2], c.gens[n-1] = g, last
	return g
}

// unknown returns the keys that the index doesn't know, asked in small steps.
func (m *importer) unknown(keys []store.Key) ([]store.Key, error) {
	kept := 0
	for lo := 0; lo < len(keys); lo += askedKeys {
		part := keys[lo:min(lo+askedKeys, len(keys))]
		known := make([]bool, len(part))
		err := m.s.do(m.ctx, readOp(func(tx *txn) error {
			c := tx.crawl(m.crawl, false)
			for i := range part {
				if c != nil {
					known[i] = tx.known(c, &part[i])
				}
			}
			return nil
		}))
		if err != nil {
			return nil, err
		}
		for i := range part {
			if !known[i] {
				keys[kept] = part[i]
				kept++
			}
		}
	}
	return keys[:kept], nil
}
