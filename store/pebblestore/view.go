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

// parts returns what has the keys of g: each of its runs, which it holds, and its packed rows as they are now.
func (h *heldRuns) parts(g *generation) (parts []*keyPart) {
	for _, r := range g.runs {
		h.hold(r)
		parts = append(parts, &keyPart{g: g, inputs: []*run{r}})
	}
	if n := g.packed(); n > 0 {
		rows := packedKeys{n: n, chunks: slices.Concat(g.frozen.chunks, g.rows.chunks)} // the last of them grows
		parts = append(parts, &keyPart{g: g, rows: rows})
	}
	return parts
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
		held, from, err := s.openKeys(crawl)
		if err == nil {
			defer held.release()
			err = s.eachKey(ctx, from, yield)
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

// openKeys returns the keys of a crawl in order, from its runs and packed rows as they are now.
func (s *Store) openKeys(name string) (held heldRuns, from runfile.Source, err error) {
	if _, err := sched.CrawlName(name); err != nil {
		return held, nil, err
	}
	if err := s.lock(); err != nil {
		return held, nil, err
	}
	held = s.holdRuns()
	var parts []*keyPart
	for _, c := range s.selected(name, "") {
		for _, g := range c.gens {
			parts = append(parts, held.parts(g)...)
		}
	}
	s.mu.Unlock()
	sources := make([]runfile.Source, len(parts))
	for i, p := range parts {
		sources[i] = &sifted{p.keys(), s.visibleOf(p.g)}
	}
	return held, runfile.Merge(sources), nil
}

func (s *Store) eachKey(ctx context.Context, from runfile.Source, yield func(store.Key, error) bool) error {
	for {
		if err := cmp.Or(ctx.Err(), s.usable()); err != nil {
			return err
		}
		keys, err := from.Next()
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

// visibleOf returns what takes the keys out of a part of g that are forgotten.
func (s *Store) visibleOf(g *generation) func([]store.Key) ([]store.Key, error) {
	return func(keys []store.Key) ([]store.Key, error) {
		if err := s.rlock(); err != nil {
			return nil, err
		}
		defer s.mu.RUnlock()
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
