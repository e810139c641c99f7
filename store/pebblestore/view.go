package pebblestore

import (
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// view lists the keys of a crawl in order, from its runs and packed rows as they
// were when it was opened. While there is one, tombstones stay.
type view struct {
	s     *Store
	files []*runfile.File
	from  runfile.Source
}

// openView opens a view.
func (s *Store) openView(name string) (*view, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	v := &view{s: s}
	s.views++
	var sources []runfile.Source
	var packed []*generation
	for _, c := range s.selected(name) {
		for _, g := range c.gens {
			for _, r := range g.runs {
				r.File.Use()
				v.files = append(v.files, r.File)
				sources = append(sources, &tagged{v: v, g: g, from: r.Read(nil)})
			}
			if g.packed > 0 {
				packed = append(packed, g)
			}
		}
	}
	rows, upTo := s.db.NewSnapshot(), s.nextPacked
	s.mu.Unlock()
	var err error
	for _, g := range packed {
		var read packedRows
		if read, err = s.readPacked(rows, g.num, upTo); err != nil {
			break
		}
		keys := runfile.Sort(read.keys)
		sources = append(sources, &tagged{v: v, g: g, from: &listSource{keys}})
	}
	if e := s.unlessDead(rows.Close); err == nil {
		err = e
	}
	if err != nil {
		v.close()
		return nil, corruption(err)
	}
	v.from = runfile.Merge(sources)
	return v, nil
}

// next returns the next keys, none at the end.
func (v *view) next(ctx context.Context) ([]store.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := v.s.usable(); err != nil {
		return nil, err
	}
	keys, err := v.from.Next()
	if err != nil {
		return nil, damaged(err)
	}
	return keys, nil
}

// close ends the view.
func (v *view) close() {
	for _, f := range v.files {
		f.Release()
	}
	if v.s.lock() != nil {
		return
	}
	defer v.s.mu.Unlock()
	v.s.views--
}

// tagged is the keys of a generation without those that are forgotten.
type tagged struct {
	v    *view
	g    *generation
	from runfile.Source
	buf  []store.Key
}

// Next implements runfile.Source.
func (t *tagged) Next() ([]store.Key, error) {
	for {
		keys, err := t.from.Next()
		if err != nil || len(keys) == 0 {
			return nil, err
		}
		if keys, err = t.alive(keys); err != nil || len(keys) > 0 {
			return keys, err
		}
	}
}

func (t *tagged) alive(keys []store.Key) ([]store.Key, error) {
	if err := t.v.s.rlock(); err != nil {
		return nil, err
	}
	defer t.v.s.mu.RUnlock()
	if !t.g.hides() {
		return keys, nil
	}
	t.buf = t.buf[:0]
	for i := range keys {
		if !t.g.hidden(&keys[i]) {
			t.buf = append(t.buf, keys[i])
		}
	}
	return t.buf, nil
}
