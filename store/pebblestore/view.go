package pebblestore

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
	"github.com/firstseen/firstseen/store/keyfile"
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
	h.s.views--
	h.s.mu.Unlock()
	h.s.pokeKeeper() // a purge of tombstones may wait
}

// Keys implements store.Store. Keys recorded or forgotten while it runs may be
// in the list or not.
func (s *Store) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		v, err := s.openView(crawl)
		if err == nil {
			defer v.release()
			err = v.each(ctx, yield)
		}
		if err != nil {
			yield(store.Key{}, err)
		}
	}
}

// Export writes the keys of a crawl to w as a key file, and returns their number.
// Keys recorded or forgotten while it runs may be in the file or not.
func (s *Store) Export(ctx context.Context, w io.Writer, crawl string) (int64, error) {
	if err := s.rlock(); err != nil {
		return 0, err
	}
	h := keyfile.Header{Identity: s.Identity(), UnicodeHosts: s.unicodeHosts}
	s.mu.RUnlock()
	return keyfile.Write(w, h, s.Keys(ctx, crawl))
}

// openView opens a view.
func (s *Store) openView(name string) (*view, error) {
	if _, err := sched.CrawlName(name); err != nil {
		return nil, err
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	v := &view{heldRuns: s.holdRuns()}
	var sources []runfile.Source
	var packed []keyPart
	for _, c := range s.selected(name, "") {
		for _, g := range c.gens {
			for _, r := range g.runs {
				v.hold(r)
				sources = append(sources, &sifted{r.Read(nil), v.visible(g)})
			}
			if g.packed > 0 {
				packed = append(packed, keyPart{g: g, rows: packedKeys{chunks: slices.Concat(g.frozen.chunks, g.rows.chunks)}})
			}
		}
	}
	s.mu.Unlock()
	for _, p := range packed {
		sources = append(sources, &sifted{&listSource{p.rows.sorted()}, v.visible(p.g)})
	}
	v.from = runfile.Merge(sources)
	return v, nil
}

// each calls yield for the keys.
func (v *view) each(ctx context.Context, yield func(store.Key, error) bool) error {
	for {
		if err := cmp.Or(ctx.Err(), v.s.usable()); err != nil {
			return err
		}
		keys, err := v.from.Next()
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			if !yield(k, nil) {
				return nil
			}
		}
	}
}

// visible returns what takes the keys out of a part of g that are forgotten.
func (v *view) visible(g *generation) func([]store.Key) ([]store.Key, error) {
	return func(keys []store.Key) ([]store.Key, error) {
		if err := v.s.rlock(); err != nil {
			return nil, err
		}
		defer v.s.mu.RUnlock()
		return g.visible(keys), nil
	}
}

// sifted is a source without the keys that sift takes out.
type sifted struct {
	from runfile.Source
	sift func([]store.Key) ([]store.Key, error)
}

// Next implements runfile.Source.
func (s *sifted) Next() ([]store.Key, error) {
	for {
		keys, err := s.from.Next()
		if err != nil || len(keys) == 0 {
			return nil, err
		}
		if keys, err = s.sift(keys); err != nil || len(keys) > 0 {
			return keys, err
		}
	}
}
