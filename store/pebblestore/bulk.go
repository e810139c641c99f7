package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
)

// importKeys is how many keys an import records in one step.
const importKeys = 1 << 20

// Export writes the keys of a crawl to w as a key file, and returns their number.
// Keys recorded or forgotten while it runs may be in the file or not.
func (s *Store) Export(ctx context.Context, w io.Writer, crawl string) (int64, error) {
	s.mu.RLock()
	h := keyfile.Header{Identity: s.identity, UnicodeHosts: s.unicodeHosts}
	s.mu.RUnlock()
	return keyfile.Write(w, h, s.Keys(ctx, crawl))
}

// Import records the keys of a key file, and returns how many it read and how
// many were new. A file of another identity is refused with
// store.ErrIdentity; one of another Unicode version only if it has keys of
// internationalised hosts.
//
// The keys before an error are recorded; doing it again is safe.
func (s *Store) Import(ctx context.Context, r io.Reader, crawl string) (read, fresh int64, err error) {
	kr, err := keyfile.NewReader(r)
	if err != nil {
		return 0, 0, err
	}
	h, have := kr.Header(), s.identity
	want := h.Identity
	if !h.UnicodeHosts {
		want.Unicode = have.Unicode
	}
	if want = want.Or(have); want != have.Or(want) {
		return 0, 0, fmt.Errorf("cannot import; got keys of %+v; want %+v: %w", h.Identity, have, store.ErrIdentity)
	}
	return s.ImportSorted(ctx, crawl, kr.Keys(), store.SeeOptions{UnicodeHosts: h.UnicodeHosts})
}

// ImportSorted records keys that ascend strictly, several million a second: the
// new ones are written as tables that go into the database as they are, without
// log, write buffer or compaction. It returns how many keys it read and how
// many were new. Every million is one durable step; other writes wait for it,
// about a quarter of a second.
//
// Out of order keys return store.ErrInvalid. The keys before an error are
// recorded.
func (s *Store) ImportSorted(ctx context.Context, crawl string, keys iter.Seq2[store.Key, error], opt store.SeeOptions) (read, fresh int64, err error) {
	o := &importOp{crawl: crawl, opt: opt, keys: make([]store.Key, 0, importKeys)}
	flush := func() error {
		read += int64(len(o.keys))
		if err := s.do(ctx, o); err != nil {
			return err
		}
		fresh += o.n
		o.keys = o.keys[:0]
		return nil
	}
	for k, err := range keys {
		if err != nil {
			return read, fresh, err
		}
		if n := len(o.keys); n > 0 && bytes.Compare(o.keys[n-1][:], k[:]) >= 0 {
			return read, fresh, fmt.Errorf("cannot import; got key %x after %x; want ascending ones: %w", k, o.keys[n-1], store.ErrInvalid)
		}
		if o.keys = append(o.keys, k); len(o.keys) == cap(o.keys) {
			if err := flush(); err != nil {
				return read, fresh, err
			}
		}
	}
	return read, fresh, flush()
}

// importOp records a run of ascending keys.
type importOp struct {
	crawl string
	opt   store.SeeOptions
	keys  []store.Key
	gen   *generation // the import's own, so that its tables overlap no others
	n     int64
}

func (o *importOp) weight() int { return len(o.keys) }

func (o *importOp) apply(tx *txn) error {
	tx.flush()
	o.n = 0
	if len(o.keys) == 0 || tx.err != nil {
		return tx.err
	}
	c := tx.crawl(o.crawl, true)
	order := make([]uint32, len(o.keys))
	for i := range order {
		order[i] = uint32(i)
	}
	fresh := make([]bool, len(o.keys))
	if err := c.seen.addSorted(o.keys, order, fresh); err != nil {
		return err
	}
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	o.pickGeneration(tx, c)
	tx.note(o.ingest(tx, c, fresh))
	return tx.err
}

// pickGeneration gives the import a generation, before the one that takes new
// keys, unless it has one that is still there.
func (o *importOp) pickGeneration(tx *txn, c *crawl) {
	for _, g := range c.gens {
		if g == o.gen {
			return
		}
	}
	last := tx.generation(c)
	o.gen = tx.addGeneration(c)
	n := len(c.gens)
	c.gens[n-2], c.gens[n-1] = o.gen, last
}

// ingest writes the fresh keys and the row of their generation as tables, and
// brings them into the database in one step.
func (o *importOp) ingest(tx *txn, c *crawl, fresh []bool) error {
	g := o.gen
	for _, f := range fresh {
		if f {
			o.n++
		}
	}
	if o.n == 0 {
		return nil
	}
	g.keys += o.n
	g.last = tx.now
	tx.untouch(g)
	s := tx.s
	tx.flush() // the crawl's row and the numbers given out, which the tables rely on
	if tx.err != nil {
		return tx.err
	}
	if err := guard(func() error { return s.db.LogData(nil, pebble.Sync) }); err != nil {
		return err
	}
	rows, count := s.tempTables()
	err := s.writeTable(rows, func(w *sstable.Writer) error {
		row := make([]byte, 0, seenRowLen)
		for i := range o.keys {
			if !fresh[i] {
				continue
			}
			row = appendSeenRow(row[:0], g.num, &o.keys[i])
			if err := w.Set(row, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.writeTable(count, func(w *sstable.Writer) error {
		return w.Set(appendNumbered(nil, tableGen, g.num), appendGeneration(nil, c.num, g))
	})
	if err != nil {
		return err
	}
	return guard(func() error { return s.db.Ingest(context.Background(), []string{count, rows}) })
}

// writeTable writes a table of the rows that fill sets, and syncs it.
func (s *Store) writeTable(path string, fill func(*sstable.Writer) error) error {
	f, err := s.opt.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("cannot import: %w", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.pebble.MakeWriterOptions(6, s.db.TableFormat()))
	if err := fill(w); err != nil {
		_ = w.Close() // the first error says more
		return fmt.Errorf("cannot import: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("cannot import: %w", err)
	}
	return nil
}

// tempTables are the names of the tables that an import writes, before they go
// into the database.
func (s *Store) tempTables() (rows, count string) {
	return s.opt.FS.PathJoin(s.dir, "import-rows.tmp"), s.opt.FS.PathJoin(s.dir, "import-count.tmp")
}

// removeTempTables removes what an import left that was cut off.
func (s *Store) removeTempTables() error {
	rows, count := s.tempTables()
	for _, path := range []string{rows, count} {
		if err := s.opt.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot clean up after an import: %w", err)
		}
	}
	return nil
}
