package pebblestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// keyPart is a part of the keys of a generation, packed rows or runs, of which one run can be made.
type keyPart struct {
	g      *generation
	inputs []*run     // nil for packed rows
	rows   packedKeys // frozen
	purge  bool       // leave out the keys that are purging
	file   *runfile.Writer
	place  runfile.Place
}

func (p *keyPart) len() int64 {
	n := p.rows.n
	for _, r := range p.inputs {
		n += r.Len()
	}
	return n
}

// begin marks the inputs as busy, and keeps their files open.
func (p *keyPart) begin() {
	for _, r := range p.inputs {
		r.busy = true
		r.File.Use()
	}
}

// keys returns the keys of the inputs.
func (p *keyPart) keys() runfile.Source {
	if p.inputs == nil {
		return &listSource{p.rows.sorted()}
	}
	sources := make([]runfile.Source, len(p.inputs))
	for i, r := range p.inputs {
		sources[i] = r.Read(nil)
	}
	from := runfile.Merge(sources)
	if p.purge {
		return &sifted{from, p.g.withoutPurging}
	}
	return from
}

// makeRuns makes runs of parts. If it fails, their inputs stay.
func (s *Store) makeRuns(parts []*keyPart) (err error) {
	w := &runsWriter{s: s}
	defer func() { err = errors.Join(err, w.release()) }()
	for _, p := range parts {
		if err := w.write(p); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	for chunk := range slices.Chunk(parts, stepParts) {
		if err := s.do(context.Background(), stepOp(func(tx *txn) error { return tx.replace(chunk) })); err != nil {
			return err
		}
	}
	for _, f := range w.all {
		s.note.hasRun(f.File) // if no row names it after all, it is removed now
	}
	if err := s.note.write(); err != nil {
		s.die(err)
	}
	return s.failure()
}

// runsWriter writes runs: large ones into files of their own, others into one.
type runsWriter struct {
	s      *Store
	shared *runfile.Writer
	all    []*runfile.Writer
}

// writer returns the file for a run of so many keys.
func (w *runsWriter) writer(n int64) (*runfile.Writer, error) {
	shares := !w.s.opt.hasOwnFile(n)
	if shares && w.shared != nil {
		return w.shared, nil
	}
	var id runfile.ID
	_, _ = rand.Read(id[:]) // it never fails
	f, err := runfile.Create(w.s.opt.FS, w.s.runsDir(), id)
	if err != nil {
		return nil, err
	}
	w.all = append(w.all, f)
	if shares {
		w.shared = f
	}
	return f, nil
}

// write writes the run of a part.
func (w *runsWriter) write(p *keyPart) (err error) {
	from, n := p.keys(), p.len()
	if p.file, err = w.writer(n); err != nil {
		return err
	}
	p.file.Begin(p.g.num, n)
	for {
		keys, err := from.Next()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := cmp.Or(w.s.usable(), p.file.Add(keys)); err != nil {
			return err
		}
		runtime.Gosched() // callers come first
	}
	p.place, err = p.file.End()
	return err
}

// end ends the files, whose names are durable then.
func (w *runsWriter) end() error {
	for _, f := range w.all {
		if err := f.Finish(); err != nil {
			return err
		}
		w.s.removeUnused(f.File)
	}
	if err := w.s.syncDir(w.s.runsDir()); err != nil {
		return fmt.Errorf("cannot sync the directory of runs: %w", err)
	}
	return nil
}

// release ends the use of the files: those of which no generation took a run are removed.
func (w *runsWriter) release() (err error) {
	for _, f := range w.all {
		err = errors.Join(err, f.Close())
	}
	return err
}

func (s *Store) syncDir(dir string) error { return syncDir(s.opt.FS, dir) }

func (s *Store) runsDir() string { return s.opt.FS.PathJoin(s.dir, "runs") }

// replace has runs replace their inputs.
func (tx *txn) replace(parts []*keyPart) error {
	for _, p := range parts {
		if p.g.gone {
			continue
		}
		if p.purge && tx.s.views > 0 {
			return errViews
		}
		r, err := p.file.File.Run(p.g.num, p.place)
		if err != nil {
			return err
		}
		if p.inputs == nil {
			if p.place.Keys != p.rows.n {
				return fmt.Errorf("cannot make a run of generation %d; got %d packed keys; want %d: %w", p.g.num, p.place.Keys, p.rows.n, store.ErrCorrupt)
			}
			tx.deletePacked(p.g)
		}
		if p.place.Keys > 0 {
			tx.addRun(p.g, &run{Run: r})
		}
		tx.dropRuns(p.g, p.inputs)
		if p.purge {
			tx.purged(p.g)
		}
	}
	return nil
}

// errViews is why tombstones must stay for now.
var errViews = errors.New("keys are being listed")

// purged ends a merge that left out the keys that are purging.
func (tx *txn) purged(g *generation) {
	tx.deleteRange(appendNumbered(nil, tableTomb, g.num), afterNumbered(tableTomb, g.num))
	for k := range g.dead {
		tx.set(appendKeyRow(nil, tableTomb, g.num, &k), nil)
	}
	for k := range g.revived {
		if g.low == nil || k.Compare(*g.low) > 0 { // otherwise it was forgotten by age in the meantime
			tx.pack(g, &k)
			g.c.seen.add(&k)
		}
	}
	g.purging, g.revived = nil, nil
}

// mergeParts merges the inputs of each part, and ends their use. If one of them is damaged they are not
// merged again.
func (s *Store) mergeParts(parts []*keyPart) error {
	err := s.makeRuns(parts)
	alive := s.lock() == nil
	for _, p := range parts {
		for _, r := range p.inputs {
			if alive {
				r.busy = errors.Is(err, runfile.ErrDamaged)
				if r.busy {
					s.damage.note("", err)
				}
			}
			r.File.Release()
		}
	}
	if alive {
		s.mu.Unlock()
	}
	return err
}

// withoutPurging takes the keys out that are purging.
func (g *generation) withoutPurging(keys []store.Key) ([]store.Key, error) {
	return slices.DeleteFunc(keys, func(k store.Key) bool { _, ok := g.purging[k]; return ok }), nil
}

// mustPurge reports whether a generation has many tombstones.
func (s *Store) mustPurge() bool {
	for g := range s.generations() {
		if s.purges(g) {
			return true
		}
	}
	return false
}

// purges reports whether a merge of g is to leave out the keys with a tombstone: there are many, and
// no reader of its runs needs them.
func (s *Store) purges(g *generation) bool {
	n := int64(len(g.dead))
	return n >= min(purgeLeast, s.opt.flushKeys) && 8*n >= g.keys && g.purging == nil && g.low == nil &&
		s.views == 0
}

// purgeable reports whether all keys of g that are purging are in runs that are not being merged.
func (g *generation) purgeable() bool {
	return g.purging != nil && len(g.frozen.chunks) == 0 && !slices.ContainsFunc(g.runs, func(r *run) bool { return r.busy })
}
