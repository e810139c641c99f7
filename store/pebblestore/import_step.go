package pebblestore

import (
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// importOp records a run of ascending keys.
type importOp struct {
	crawl string
	opt   store.SeeOptions
	read  int64
	keys  []store.Key
	gen   *generation
	table string // of all keys; empty when it has been brought in, or there is none

	n     int64 // keys that were new
	again bool  // some were known, or the generation gone
}

func (o *importOp) weight() int { return len(o.keys) }

func (o *importOp) apply(tx *txn) error {
	tx.flush()
	if len(o.keys) == 0 || tx.err != nil {
		return tx.err
	}
	c := tx.crawl(o.crawl, true)
	fresh := make([]bool, len(o.keys))
	if err := c.seen.addSorted(o.keys, identity(len(o.keys)), fresh); err != nil {
		return err
	}
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	keys := o.keys
	if o.gen, keys = o.generation(tx, c), chosen(keys, fresh); len(keys) < len(fresh) {
		o.again = true
	}
	tx.note(o.ingest(tx, c, keys))
	return tx.err
}

// generation returns the import's generation, which may be gone since.
func (o *importOp) generation(tx *txn, c *crawl) *generation {
	if slices.Contains(c.gens, o.gen) {
		return o.gen
	}
	o.again = true
	return tx.importGeneration(c)
}

// chosen returns the keys that are fresh.
func chosen(keys []store.Key, fresh []bool) []store.Key {
	if !slices.Contains(fresh, false) {
		return keys
	}
	var list []store.Key
	for i, f := range fresh {
		if f {
			list = append(list, keys[i])
		}
	}
	return list
}

// ingest brings the table of keys and the row of their generation into the database
// in one step.
func (o *importOp) ingest(tx *txn, c *crawl, keys []store.Key) (err error) {
	s, g := tx.s, o.gen
	if o.again {
		if err := s.removeTable(o.table); err != nil {
			return err
		}
		o.table = ""
	}
	if o.n = int64(len(keys)); o.n == 0 {
		return nil
	}
	if o.table == "" {
		if o.table, err = s.seenTable(g, keys); err != nil {
			return err
		}
	}
	tx.recorded(c, g, o.n)
	tx.untouch(g)
	tx.flush() // the crawl's row and the numbers given out, which the tables rely on
	if tx.err != nil {
		return tx.err
	}
	if err := guard(func() error { return s.db.LogData(nil, pebble.Sync) }); err != nil {
		return err
	}
	count, err := s.countTable(c, g)
	if err != nil {
		return err
	}
	table := o.table
	o.table = ""
	err = guard(func() error { return s.db.Ingest(context.Background(), []string{count, table}) })
	if err == nil {
		c.seen.committed()
	}
	return err
}
