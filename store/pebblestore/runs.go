package pebblestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// Packed keys become runs: sorted keys of one generation in a file that never changes (package runfile). Runs of similar size
// are merged, four or more at a time, so that a look-up reads few. At first Pebble kept the keys; a key then cost
// 18 bytes of tables and filters on disk, five writes, and 4 µs a look-up.
//
// One goroutine, the keeper, does this between the steps of callers: it freezes the packed rows in a step, writes files, and
// replaces rows by runs in further steps. FORMAT.md shows why no crash loses a key. The users of a file are its runs,
// writers and readers. The last one to release it removes it, unless a backup holds files.
//
// keeper.mu guards the list of files to remove; keeper.flushing is held by a flush; run.busy, generation.frozen and purging are
// the committer's, guarded by Store.mu.

// run is sorted keys of one generation in a file.
type run struct {
	*runfile.Run
	busy bool // it is being merged
}

// addRun adds a run to g, and writes its row.
func (tx *txn) addRun(g *generation, r *run) {
	g.runs = append(slices.Clip(g.runs), r)
	r.File.Use()
	tx.set(appendRunRow(nil, g.num, r.File.ID()), appendPlace(nil, r.Place))
}

// dropRuns removes runs from g. Their files are released when the batch is durable.
func (tx *txn) dropRuns(g *generation, runs []*run) {
	g.runs = slices.DeleteFunc(slices.Clone(g.runs), func(r *run) bool { return slices.Contains(runs, r) })
	for _, r := range runs {
		tx.delete(appendRunRow(nil, g.num, r.File.ID()))
		tx.files = append(tx.files, r.File)
	}
}

const (
	// flushKeys is how many packed keys make a flush. Packed rows of four times as many
	// fit into a write buffer of Pebble, so that it writes few of them to its tables.
	flushKeys = 1 << 19
	// ownKeys is the number of keys from which a run has its own file.
	ownKeys = 1 << 16
	// bigMerge is the number of keys from which a merge is large: one of these and one
	// smaller one may run at once.
	bigMerge = 32 << 20
	// retryRuns is how long to wait before a failed write of a run file is retried.
	retryRuns = time.Second
	// purgeLeast is the least number of tombstones for which runs are merged.
	purgeLeast = 1 << 10
	// stepParts is how many generations one step changes.
	stepParts = 2048
)

// keeper is the state of the keeper that others use.
type keeper struct {
	poke     chan struct{}
	flushing sync.Mutex // held by a flush

	releasing sync.WaitGroup // releases of files, which may take long for large ones

	mu     sync.Mutex // guards what follows
	unused []string   // run files without a user
	held   int        // backups, for which none of them is removed

	// removes reports whether a run file is removed when its last user releases it: each run of a
	// generation, each writer and each reader is a user. It is true from the end of Open to Close.
	removes atomic.Bool
}

// removeUnused removes f when its last user releases it, unless the store failed. The next Open removes
// the files that are left.
func (s *Store) removeUnused(f *runfile.File) {
	k, path := &s.keeper, s.opt.FS.PathJoin(s.runsDir(), f.ID().Name())
	f.AtEnd(func() {
		if k.removes.Load() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.unused = append(k.unused, path)
			s.removeFiles()
		}
	})
}

// removeFiles removes the files without a user. The caller holds keeper.mu.
func (s *Store) removeFiles() {
	k := &s.keeper
	if k.held > 0 {
		return
	}
	if len(k.unused) == 0 || s.isDead() {
		return
	}
	gone := func(name string) bool { return slices.Contains(k.unused, s.opt.FS.PathJoin(s.runsDir(), name)) }
	if err := s.note.removingRuns(gone); err != nil {
		s.die(err)
		return
	}
	for _, path := range k.unused {
		_ = s.opt.FS.Remove(path)
	}
	k.unused = nil
}

// holdFiles keeps the files without a user until release is called.
func (s *Store) holdFiles() (release func()) {
	k := &s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.held--
		s.removeFiles()
	}
}

// hasOwnFile reports whether a run of n keys has a file of its own.
func (o *Options) hasOwnFile(n int64) bool { return n >= min(ownKeys, o.flushKeys) }

func (s *Store) pokeKeeper() {
	select {
	case s.keeper.poke <- struct{}{}:
	default:
	}
}

// keep is the keeper's goroutine.
func (s *Store) keep() {
	var merges merges
	defer merges.Wait()
	for {
		var retry <-chan time.Time
		if s.round(&merges) != nil {
			retry = time.After(retryRuns)
		}
		select {
		case <-s.closing:
			return
		case <-s.dead:
			return
		case <-s.keeper.poke:
		case <-retry:
		}
	}
}

// round does one round of the work that is due.
func (s *Store) round(m *merges) error {
	if err := s.rlock(); err != nil {
		return err
	}
	due := s.index == outgrown || s.packed >= s.opt.flushKeys || s.mustPurge()
	s.mu.RUnlock()
	var err error
	if due {
		err = s.flushPacked()
	}
	s.startMerges(m)
	return err
}

// flushRuns makes runs of all packed rows there are, for a caller.
func (s *Store) flushRuns() error {
	done, err := s.linger()
	if err != nil {
		return err
	}
	defer done()
	return s.flushPacked()
}

// freeze begins a flush, and returns the packed rows that become runs. If a generation has many
// tombstones, the keys that have one are then to be left out by a merge.
func (tx *txn) freeze() (parts []*keyPart) {
	s := tx.s
	for _, c := range s.crawls {
		for _, g := range c.gens {
			if g.packed() > 0 {
				g.frozen.move(&g.rows)
				parts = append(parts, &keyPart{g: g, rows: g.frozen})
			}
			if s.purges(g) {
				g.purging, g.dead = g.dead, nil
			}
		}
		n, young := c.seen, c.seen.young()
		if len(young) > 0 || young == nil && s.index == outgrown {
			n.tables = append(n.tables, packedTable{})
		}
	}
	return parts
}

// flushPacked makes runs of the packed rows. If it fails, the rows stay.
func (s *Store) flushPacked() error {
	s.keeper.flushing.Lock()
	defer s.keeper.flushing.Unlock()
	var parts []*keyPart
	var leaving bool
	err := s.do(context.Background(), 1, func(tx *txn) error {
		if tx.flush(); tx.err == nil {
			parts, leaving = tx.freeze(), s.index == outgrown
		}
		return tx.err
	})
	if err != nil {
		return err
	}
	if err := s.makeRuns(parts); err != nil {
		return err
	}
	return s.do(context.Background(), 1, func(*txn) error {
		for _, c := range s.crawls {
			if young := c.seen.young(); young != nil {
				c.seen.tables = []packedTable{young}
			}
		}
		if leaving && s.index == outgrown {
			s.leave()
		}
		return nil
	})
}

// merges are the running merges: at most a small one and a large one.
type merges struct {
	sync.WaitGroup
	small, big sync.Mutex
}

// startMerges starts the merges that are due.
func (s *Store) startMerges(m *merges) {
	for {
		parts, end := s.pickMerge(m)
		if parts == nil {
			return
		}
		m.Go(func() {
			err := s.mergeParts(parts)
			end()
			if err == nil {
				s.pokeKeeper()
			}
		})
	}
}

// pickMerge returns runs that are to be merged, marked as busy: all of a generation that purges keys,
// or similar files of one generation, or similar files that generations share.
func (s *Store) pickMerge(m *merges) ([]*keyPart, func()) {
	if s.rlock() != nil {
		return nil, nil
	}
	defer s.mu.RUnlock()
	parts, files := map[*runfile.File][]*keyPart{}, map[*generation][]*runfile.File{} // nil: shared
	for g := range s.generations() {
		if g.purgeable() && s.views == 0 {
			if list, end := m.begin([]*keyPart{{g: g, inputs: slices.Clone(g.runs), purge: true}}); list != nil {
				return list, end
			}
		}
		for _, r := range g.runs {
			var of *generation
			if s.opt.hasOwnFile(r.Len()) {
				of = g
			}
			if parts[r.File] == nil {
				files[of] = append(files[of], r.File)
			}
			parts[r.File] = append(parts[r.File], &keyPart{g: g, inputs: []*run{r}})
		}
	}
	for _, list := range files {
		list = slices.DeleteFunc(list, func(f *runfile.File) bool {
			return slices.ContainsFunc(parts[f], func(p *keyPart) bool { return p.inputs[0].busy })
		})
		if list := joinParts(similar(list), parts); list != nil {
			if list, end := m.begin(list); list != nil {
				return list, end
			}
		}
	}
	return nil, nil
}

// joinParts returns the parts of files, those of a generation as one, in order of generation.
func joinParts(files []*runfile.File, parts map[*runfile.File][]*keyPart) (list []*keyPart) {
	byGen := map[*generation]*keyPart{}
	for _, f := range files {
		for _, p := range parts[f] {
			if have := byGen[p.g]; have != nil {
				have.inputs = append(have.inputs, p.inputs...)
				continue
			}
			byGen[p.g] = p
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *keyPart) int { return cmp.Compare(a.g.num, b.g.num) })
	return list
}

// begin marks runs as busy, unless a merge of about their size runs.
func (m *merges) begin(parts []*keyPart) ([]*keyPart, func()) {
	var n int64
	for _, p := range parts {
		n += p.len()
	}
	kind := &m.small
	if n >= bigMerge {
		kind = &m.big
	}
	if !kind.TryLock() {
		return nil, nil
	}
	for _, p := range parts {
		p.begin()
	}
	return parts, kind.Unlock
}

// similar returns four or more files of about the same size, or smaller ones, nil if there are none.
func similar(list []*runfile.File) []*runfile.File {
	const n, spread, most = 4, 3, 64
	slices.SortFunc(list, func(a, b *runfile.File) int { return cmp.Compare(a.Bytes(), b.Bytes()) })
	for i := n - 1; i < len(list); i++ {
		if room := spread * list[i-n+1].Bytes(); list[i].Bytes() <= room {
			for i++; i < len(list) && i < most && list[i].Bytes() <= room; i++ {
			}
			return list[:i]
		}
	}
	return nil
}

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
		return listed(p.rows.sorted())
	}
	sources := make([]runfile.Source, len(p.inputs))
	for i, r := range p.inputs {
		sources[i] = r.Read(nil)
	}
	from := runfile.Merge(sources)
	if p.purge {
		return sifted(from, p.g.withoutPurging)
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
		if err := s.do(context.Background(), 1, func(tx *txn) error { return tx.replace(chunk) }); err != nil {
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
		keys, err := from()
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

// withoutPurging removes the keys that are purging.
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

// # Readers of all keys hold runs

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
	if h.s.wait(h.s.mu.TryLock, &h.s.mu) == nil {
		h.s.views--
		h.s.mu.Unlock()
	}
	h.s.pokeKeeper() // a purge of tombstones may wait
}

// sifted is a source without the keys that sift removes.
func sifted(from runfile.Source, sift func([]store.Key) ([]store.Key, error)) runfile.Source {
	return func() ([]store.Key, error) {
		for {
			keys, err := from()
			if err != nil || len(keys) == 0 {
				return nil, err
			}
			if keys, err = sift(keys); err != nil || len(keys) > 0 {
				return keys, err
			}
		}
	}
}
