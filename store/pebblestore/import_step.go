package pebblestore

import (
	"slices"

	"github.com/firstseen/firstseen/store"
)

// importOp records a part of ascending keys. If all are new, the run that was written
// of them takes effect; otherwise those that are new are packed.
type importOp struct {
	crawl string
	opt   store.SeeOptions
	read  int64
	keys  []store.Key
	w     runsWriter
	run   *run // of keys, or nil

	n    int64 // keys that were new
	sift bool  // some were known
}

func (o *importOp) weight() int { return len(o.keys) }

func (o *importOp) apply(tx *txn) error {
	if len(o.keys) == 0 {
		return nil
	}
	c := tx.crawl(o.crawl, true)
	fresh, order := make([]bool, len(o.keys)), identity(len(o.keys))
	if err := c.seen.hasSorted(o.keys, order, fresh); err != nil {
		return err
	}
	for i, known := range fresh {
		fresh[i] = !known
	}
	if o.opt.UnicodeHosts {
		tx.unicodeHosts()
	}
	g := tx.generation(c)
	o.sift = slices.Contains(fresh, false)
	if o.run == nil || o.sift || g.hides() { // a generation has no key twice
		c.seen.learn(o.keys, order, fresh, true)
		o.n = tx.packFresh(c, o.keys, order, fresh)
		return nil
	}
	c.seen.learn(o.keys, order, fresh, false)
	o.n = int64(len(o.keys))
	tx.addRun(g, o.run)
	tx.recorded(g, o.n)
	return nil
}

// writeRun writes the run of the keys. If that fails they can still be packed.
func (o *importOp) writeRun() {
	p := &keyPart{}
	if o.w.write(p, &listSource{o.keys}, int64(len(o.keys))) == nil && o.w.end() == nil {
		if r, err := p.run(); err == nil {
			o.run = r
		}
	}
}
