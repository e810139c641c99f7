package pebblestore

import (
	"context"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// importKeys is how many keys an import records in one step: the committer takes
// about 10 ms to look them up.
const importKeys = 1 << 17

// ImportSorted records keys that ascend strictly, several million a second: the
// new ones are written as runs, without log, write buffer or compaction. It returns
// how many keys it read and how many were new. Every part of 131,072 keys is one durable
// step, whose run is written beforehand, so that other steps run between them. If
// other callers recorded keys of a part just before its import, the rest of it is packed.
//
// Out of order keys return store.ErrInvalid. The keys before an error are
// recorded.
func (s *Store) ImportSorted(ctx context.Context, crawl string, keys iter.Seq2[store.Key, error], opt store.SeeOptions) (read, fresh int64, err error) {
	crawl, err = sched.CrawlName(crawl)
	if err != nil {
		return 0, 0, err
	}
	st, err := s.Stats(ctx, crawl)
	if err != nil {
		return 0, 0, err
	}
	m := &importer{s: s, ctx: ctx, crawl: crawl, opt: opt, sift: st.Seen > 0}
	err = m.all(keys)
	if last := m.await(); err == nil {
		err = last
	}
	return m.read, m.fresh, err
}

// importer brings keys in, a part at a time: while the committer has one, it writes
// the run of the next.
type importer struct {
	s           *Store
	ctx         context.Context
	crawl       string
	opt         store.SeeOptions
	sift        bool      // the next part may have keys that are known
	under       *importOp // what the committer has
	answer      chan error
	read, fresh int64
}

// all imports keys, and leaves the last part under way.
func (m *importer) all(keys iter.Seq2[store.Key, error]) error {
	part, last, begun := make([]store.Key, 0, importKeys), store.Key{}, false
	for k, err := range keys {
		if err == nil && begun && last.Compare(k) >= 0 {
			err = fault.As(store.ErrInvalid, "cannot import; got key %x after %x; want ascending ones", k, last)
		}
		if err != nil {
			return err
		}
		last, begun = k, true
		if part = append(part, k); len(part) == importKeys {
			if err := m.record(part); err != nil {
				return err
			}
			part = make([]store.Key, 0, importKeys)
		}
	}
	if len(part) == 0 {
		return nil
	}
	return m.record(part)
}

// record hands a part to the committer.
func (m *importer) record(keys []store.Key) error {
	o := &importOp{crawl: m.crawl, opt: m.opt, read: int64(len(keys)), keys: keys, w: runsWriter{s: m.s}}
	err := m.prepare(o)
	if last := m.await(); err == nil {
		err = last
	}
	if err != nil {
		o.w.release()
		return err
	}
	m.under, m.answer = o, make(chan error, 1)
	go func() { m.answer <- m.s.do(m.ctx, o) }()
	return nil
}

// await waits for what the committer has.
func (m *importer) await() error {
	if m.answer == nil {
		return nil
	}
	err := <-m.answer
	m.answer = nil
	m.under.w.release()
	if err != nil {
		return err
	}
	m.read += m.under.read
	m.fresh += m.under.n
	m.sift = m.sift || m.under.sift
	return nil
}

// prepare sifts the keys of o, if some may be known, and writes their run.
func (m *importer) prepare(o *importOp) error {
	done, err := m.s.linger()
	if err != nil {
		return err
	}
	defer done()
	if m.sift {
		n := len(o.keys)
		if o.keys, err = m.unknown(o.keys); err != nil {
			return err
		}
		m.sift = len(o.keys) < n
	}
	if int64(len(o.keys)) < m.s.opt.ownKeys() || m.s.opt.Mode == OpenReadOnly {
		return nil
	}
	o.writeRun()
	return nil
}

// unknown returns the keys that are not known, in the same memory.
func (m *importer) unknown(keys []store.Key) ([]store.Key, error) {
	known, i := make([]bool, len(keys)), -1
	err := m.s.Known(m.ctx, m.crawl, keys, known)
	return slices.DeleteFunc(keys, func(store.Key) bool { i++; return known[i] }), err
}
