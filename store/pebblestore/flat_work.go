package pebblestore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flatrun"
)

// flatResult is what a worker made, of what.
type flatResult struct {
	epoch uint64
	run   *flatrun.Run // nil with an error
	err   error
	// One of these was the job.
	delta   *delta
	merged  []*flatrun.Run
	rebuilt bool
}

// mergeRuns is how many runs of about one size are merged: each key is written
// once for each fourfold of the keys, and looked for in three runs of each size.
const mergeRuns = 4

// errStopped is the end of a worker whose set is closed.
var errStopped = errors.New("stopped")

// work starts the workers there is work for.
func (f *flat) work() {
	if f.writing == nil && len(f.frozen) > 0 {
		d := f.frozen[0]
		f.writing = d
		f.start(flatResult{delta: d}, func() (*flatrun.Run, error) {
			keys := d.sorted()
			return f.write(&listSource{keys}, int64(len(keys)))
		})
	}
	if f.merging || f.s.groups.Load() < f.mergeAt {
		return
	}
	if runs := f.mergeable(); runs != nil {
		f.merging = true
		f.start(flatResult{merged: runs}, func() (*flatrun.Run, error) { return f.merge(runs) })
	}
}

// start has a worker do a job.
func (f *flat) start(r flatResult, job func() (*flatrun.Run, error)) {
	f.workers++
	r.epoch = f.epoch
	go func() {
		r.run, r.err = job()
		f.results <- r
	}()
}

// mergeable returns the last runs when it is time to make one of them.
func (f *flat) mergeable() []*flatrun.Run {
	at := len(f.runs) - mergeRuns
	if at < 0 {
		return nil
	}
	var later int64
	for _, r := range f.runs[at+1:] {
		later += r.Len()
	}
	if f.runs[at].Len() > later {
		return nil
	}
	return slices.Clone(f.runs[at:])
}

func (f *flat) merge(runs []*flatrun.Run) (*flatrun.Run, error) {
	var n int64
	sources := make([]flatrun.Source, len(runs))
	for i, r := range runs {
		sources[i] = r.Read()
		n += r.Len()
	}
	return f.write(flatrun.Merge(sources), n)
}

// write makes a run of about n keys.
func (f *flat) write(from flatrun.Source, n int64) (*flatrun.Run, error) {
	fs := f.s.opt.FS
	if err := fs.MkdirAll(f.s.runsDir(), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make a directory of runs: %w", err)
	}
	var id flatrun.ID
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	w, err := flatrun.Create(fs, f.s.runPath(id), id, n)
	if err != nil {
		return nil, err
	}
	for {
		keys, err := from.Next()
		if err == nil && f.stopped() {
			err = errStopped
		}
		if err == nil && len(keys) == 0 {
			return w.Finish()
		}
		if err == nil {
			err = w.Add(keys)
		}
		if err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
}

func (f *flat) stopped() bool {
	return !f.saving && (f.stop.Load() || f.s.isClosing()) || f.s.isDead()
}

// rebuild has a worker make a run of all rows there are now.
func (f *flat) rebuild() {
	f.rebuilding = true
	f.newDelta()
	clear(f.gone)
	snapshot := f.s.db.NewSnapshot()
	c := &crawl{}
	for _, g := range f.rows.c.gens {
		c.gens = append(c.gens, &generation{num: g.num, keys: g.keys})
	}
	f.start(flatResult{rebuilt: true}, func() (*flatrun.Run, error) {
		run, _, err := f.readRows(snapshot, c)
		return run, errors.Join(err, f.s.unlessDead(snapshot.Close))
	})
}

// readRows makes a run of the rows of c, and returns how many of each generation
// there are.
func (f *flat) readRows(r pebble.Reader, c *crawl) (_ *flatrun.Run, counts []int64, err error) {
	sources := make([]flatrun.Source, 0, len(c.gens))
	rows := make([]*rowSource, 0, len(c.gens))
	its := make([]*pebble.Iterator, 0, len(c.gens))
	defer func() { err = errors.Join(err, f.s.closeAll(its...)) }()
	for _, g := range c.gens {
		it, err := r.NewIter(&pebble.IterOptions{LowerBound: appendNumbered(nil, tableSeen, g.num), UpperBound: afterNumbered(tableSeen, g.num)})
		if err != nil {
			return nil, nil, err
		}
		its = append(its, it)
		row := &rowSource{it: it, buf: make([]store.Key, 0, 4096)}
		rows, sources = append(rows, row), append(sources, row)
	}
	from := newPipe(flatrun.Merge(sources))
	run, err := f.write(from, c.count())
	from.stop()
	for _, row := range rows {
		counts = append(counts, row.n)
	}
	return run, counts, err
}

// rowSource hands out the keys of seen rows.
type rowSource struct {
	it    *pebble.Iterator
	begun bool
	n     int64
	buf   []store.Key
}

// Next implements flatrun.Source.
func (s *rowSource) Next() ([]store.Key, error) {
	s.buf = s.buf[:0]
	for len(s.buf) < cap(s.buf) {
		ok := s.begun && s.it.Next() || !s.begun && s.it.First()
		s.begun = true
		if !ok {
			break
		}
		row := s.it.Key()
		if len(row) != seenRowLen {
			return nil, fmt.Errorf("cannot read seen row %x: %w", row, store.ErrCorrupt)
		}
		s.buf = append(s.buf, store.Key(row[5:]))
	}
	s.n += int64(len(s.buf))
	return s.buf, s.it.Error()
}

// collect takes what workers made.
func (f *flat) collect() {
	for {
		select {
		case r := <-f.results:
			f.take(&r)
		default:
			return
		}
	}
}

// take takes what a worker made, or gives it up when the set has lost its runs
// since.
func (f *flat) take(r *flatResult) {
	f.workers--
	if r.delta != nil {
		f.writing = nil
	}
	f.merging = f.merging && r.merged == nil
	switch {
	case r.epoch != f.epoch:
		f.discard(r.run)
		if r.delta != nil {
			r.delta.x.Close()
		}
	case errors.Is(r.err, errStopped):
	case r.err != nil && r.merged != nil && !errors.Is(r.err, flatrun.ErrDamaged):
		f.mergeAt = f.later() // what was to be merged is still there
	case r.err != nil:
		f.lose()
		f.retryAt = f.later()
	default:
		f.failures = 0
		f.place(r)
	}
	if f.workers == 0 {
		f.discardAll(f.retired)
		f.retired = nil
	}
}

func (f *flat) discardAll(runs []*flatrun.Run) {
	for _, r := range runs {
		f.discard(r)
	}
}

// await stops the workers and waits for them.
func (f *flat) await() {
	f.stop.Store(true)
	for f.workers > 0 {
		r := <-f.results
		f.take(&r)
	}
}

// place puts a new run in the place of what it was made of.
func (f *flat) place(r *flatResult) {
	switch {
	case r.rebuilt:
		f.runs = slices.Insert(f.runs, 0, r.run)
		f.blind, f.rebuilding = false, false
	case r.delta != nil:
		f.frozen = f.frozen[1:]
		r.delta.x.Close()
		f.runs = append(f.runs, r.run)
	default:
		at := slices.Index(f.runs, r.merged[0])
		f.retired = append(f.retired, r.merged...)
		f.runs = slices.Replace(f.runs, at, at+len(r.merged), r.run)
	}
}

// discard closes a run and removes its file.
func (f *flat) discard(r *flatrun.Run) {
	if r == nil {
		return
	}
	path := f.s.runPath(r.ID())
	r.Close()
	_ = f.s.opt.FS.Remove(path) // or the next open does
}

// close stops the workers and removes the files, but for those that were saved.
func (f *flat) close() {
	f.await()
	for _, d := range append(f.frozen, f.delta) {
		d.x.Close()
	}
	if f.saved {
		for _, r := range f.runs {
			r.Close()
		}
		f.runs = nil
	}
	f.discardAll(append(f.runs, f.retired...))
	f.runs, f.retired, f.frozen = nil, nil, nil
}

func (s *Store) runsDir() string { return s.opt.FS.PathJoin(s.dir, "runs") }

func (s *Store) runPath(id flatrun.ID) string {
	return s.opt.FS.PathJoin(s.runsDir(), hex.EncodeToString(id[:])+".run")
}
