package pebblestore

import (
	"context"
	"slices"

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
	var packed []*tagged
	for _, c := range s.selected(name) {
		for _, g := range c.gens {
			for _, r := range g.runs {
				r.File.Use()
				v.files = append(v.files, r.File)
				sources = append(sources, &tagged{v: v, g: g, from: r.Read(nil)})
			}
			if g.packed > 0 {
				rows := packedKeys{chunks: slices.Concat(g.frozen.chunks, g.rows.chunks)}
				packed = append(packed, &tagged{v: v, g: g, rows: rows})
			}
		}
	}
	s.mu.Unlock()
	for _, t := range packed {
		t.from = &listSource{t.rows.sorted()}
		sources = append(sources, t)
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
	rows packedKeys // that from lists
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
