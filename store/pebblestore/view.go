package pebblestore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// view lists the keys of a crawl in order, from its runs and packed rows as they
// were when it was opened.
type view struct {
	heldRuns
	from runfile.Source
}

// heldRuns are runs that a reader needs: until release, their files stay open, and all tombstones
// stay.
type heldRuns struct {
	s     *Store
	files []*runfile.File
}

// holdRuns begins to hold runs. The caller holds s.mu.
func (s *Store) holdRuns() heldRuns {
	s.views++
	return heldRuns{s: s}
}

func (h *heldRuns) hold(r *run) {
	r.File.Use()
	h.files = append(h.files, r.File)
}

func (h *heldRuns) release() {
	for _, f := range h.files {
		f.Release()
	}
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.views--
}

// openView opens a view.
func (s *Store) openView(name string) (*view, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	v := &view{heldRuns: s.holdRuns()}
	var sources []runfile.Source
	var packed []*tagged
	for _, c := range s.selected(name) {
		for _, g := range c.gens {
			for _, r := range g.runs {
				v.hold(r)
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

// pages returns the keys of a crawl, some at a time. A list is valid until the next.
func (s *Store) pages(ctx context.Context, crawl string) iter.Seq2[[]store.Key, error] {
	return func(yield func([]store.Key, error) bool) {
		if _, err := sched.CrawlName(crawl); err != nil {
			yield(nil, err)
			return
		}
		v, err := s.openView(crawl)
		if err != nil {
			yield(nil, err)
			return
		}
		defer v.release()
		for {
			var keys []store.Key
			err := cmp.Or(ctx.Err(), s.usable())
			if err == nil {
				keys, err = v.from.Next()
			}
			if err == nil && len(keys) == 0 || !yield(keys, damaged(err)) || err != nil {
				return
			}
		}
	}
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
