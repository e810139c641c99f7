package pebblestore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store/internal/runfile"
)

// The keeper is the goroutine that makes runs of packed rows, and starts merges.
// What it makes takes effect in steps of the committer. FORMAT.md describes why no
// crash loses a key.

const (
	// flushKeys is how many packed keys make a flush. Packed rows of four times as many
	// fit into a write buffer of Pebble, so that it writes few of them to its tables.
	flushKeys = 1 << 19
	// ownKeys is from how many keys on a run has a file of its own.
	ownKeys = 1 << 16
	// bigMerge is from how many keys on a merge is large: one of these and one
	// smaller one may run at once.
	bigMerge = 32 << 20
	// retryRuns is when a run file that could not be written is tried again.
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

	mu    sync.Mutex      // guards what follows
	trash []*runfile.File // to be closed and removed
	held  int             // backups, for which no file is removed
	// files are all run files that the store has open. Whoever drops one calls discard; Close
	// closes the rest, so that a store that died drops none.
	files map[*runfile.File]struct{}
}

// opened notes a file that is open.
func (k *keeper) opened(f *runfile.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files[f] = struct{}{}
}

// closed takes a file out of those that Close closes, and reports whether it was there.
func (k *keeper) closed(f *runfile.File) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.files[f]
	delete(k.files, f)
	return ok
}

// closeAll closes the files that are left.
func (k *keeper) closeAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for f := range k.files {
		f.Release()
	}
	clear(k.files)
}

// flushAt is how many packed keys make a flush.
func (s *Store) flushAt() int64 {
	if s.opt.flushKeys > 0 {
		return int64(s.opt.flushKeys)
	}
	return flushKeys
}

func (o *Options) ownKeys() int64 {
	if o.flushKeys > 0 {
		return int64(o.flushKeys)
	}
	return ownKeys
}

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
	s.removeTrash()
	if err := s.rlock(); err != nil {
		return err
	}
	leaving := s.leaving
	due := leaving || s.packed >= s.flushAt() || s.mustPurge()
	s.mu.RUnlock()
	var err error
	if due {
		err = s.flushPacked(leaving)
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
	return s.flushPacked(false)
}

// removeTrash closes and removes files that no run is in any more.
func (s *Store) removeTrash() {
	s.keeper.mu.Lock()
	if s.keeper.held > 0 {
		s.keeper.mu.Unlock()
		return
	}
	trash := s.keeper.trash
	s.keeper.trash = nil
	s.keeper.mu.Unlock()
	for _, f := range trash {
		s.discard(f)
	}
}

// discard closes a file and removes it when its last reader has closed it. If that
// fails, the next open removes it.
func (s *Store) discard(f *runfile.File) {
	if !s.keeper.closed(f) {
		return
	}
	path := s.opt.FS.PathJoin(s.runsDir(), f.ID().Name())
	f.AtEnd(func() { _ = s.opt.FS.Remove(path) })
	f.Release()
}

// throwAway leaves files to the keeper, to be removed.
func (s *Store) throwAway(files []*runfile.File) {
	s.keeper.mu.Lock()
	s.keeper.trash = append(s.keeper.trash, files...)
	s.keeper.mu.Unlock()
	s.pokeKeeper()
}

// freezeOp begins a flush: the packed rows that there are become runs. If a generation has many
// tombstones, the keys that have one are then to be left out by a merge.
type freezeOp struct {
	leaving bool
	parts   []*keyPart
}

func (o *freezeOp) weight() int { return 1 }

func (o *freezeOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	s := tx.s
	for _, c := range s.crawls {
		for _, g := range c.gens {
			if g.packed > 0 {
				g.frozen.move(&g.rows)
				o.parts = append(o.parts, &keyPart{g: g, rows: g.frozen, packed: g.packed, upTo: s.nextPacked - 1})
			}
			if s.purges(g) {
				g.purging, g.dead = g.dead, nil
			}
		}
		n := c.seen
		if n.table != nil && n.table.Len() > 0 {
			n.flushing, n.table = append(n.flushing, n.table), s.newTable()
		} else if n.table == nil && o.leaving {
			n.table = s.newTable()
		}
	}
	return nil
}

// flushPacked makes runs of the packed rows. If it fails, the rows stay.
func (s *Store) flushPacked(leaving bool) error {
	s.keeper.flushing.Lock()
	defer s.keeper.flushing.Unlock()
	o := &freezeOp{leaving: leaving}
	if err := s.do(context.Background(), o); err != nil {
		return err
	}
	w := s.newRunsWriter()
	for _, p := range o.parts {
		keys := p.rows.sorted()
		if err := w.write(p, &listSource{keys}, int64(len(keys))); err != nil {
			return errors.Join(err, w.abort())
		}
	}
	if err := w.commit(o.parts); err != nil {
		return err
	}
	return s.do(context.Background(), flushedOp{leaving})
}

// flushedOp ends a flush.
type flushedOp struct{ leaving bool }

func (o flushedOp) weight() int { return 1 }

func (o flushedOp) apply(tx *txn) error {
	for _, c := range tx.s.crawls {
		for _, t := range c.seen.flushing {
			t.Close()
		}
		c.seen.flushing = nil
	}
	if o.leaving && tx.s.leaving {
		tx.s.leave()
	}
	return nil
}

// merges are those that run: at most a small one and a large one.
type merges struct {
	sync.WaitGroup
	small, big sync.Mutex
}

// begin begins a merge of so many keys, unless one of its kind runs.
func (m *merges) begin(keys int64) (end func(), ok bool) {
	kind := &m.small
	if keys >= bigMerge {
		kind = &m.big
	}
	return kind.Unlock, kind.TryLock()
}

// startMerges starts the merges there are.
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

// pickMerge returns runs that are to be merged, marked as busy.
func (s *Store) pickMerge(m *merges) ([]*keyPart, func()) {
	if s.rlock() != nil {
		return nil, nil
	}
	defer s.mu.RUnlock()
	shared := map[*runfile.File][]*keyPart{}
	for _, c := range s.crawls {
		for _, g := range c.gens {
			if g.purgeable() && s.views == 0 {
				if parts, end := s.beginMerge(m, []*keyPart{{c: c, g: g, inputs: slices.Clone(g.runs), purge: true}}); parts != nil {
					return parts, end
				}
			}
			var own []*run
			for _, r := range g.runs {
				if r.Len() < s.opt.ownKeys() {
					shared[r.File] = append(shared[r.File], &keyPart{g: g, inputs: []*run{r}})
				} else if !r.busy {
					own = append(own, r)
				}
			}
			if own = similar(own, (*run).Len); own != nil {
				if parts, end := s.beginMerge(m, []*keyPart{{g: g, inputs: own}}); parts != nil {
					return parts, end
				}
			}
		}
	}
	return s.pickShared(m, shared)
}

// pickShared is pickMerge for files that many generations share.
func (s *Store) pickShared(m *merges, shared map[*runfile.File][]*keyPart) ([]*keyPart, func()) {
	var files []*runfile.File
	for f, parts := range shared {
		if !slices.ContainsFunc(parts, func(p *keyPart) bool { return p.inputs[0].busy }) {
			files = append(files, f)
		}
	}
	byGen := map[*generation]*keyPart{}
	var list []*keyPart
	for _, f := range similar(files, (*runfile.File).Bytes) {
		for _, p := range shared[f] {
			if have := byGen[p.g]; have != nil {
				have.inputs = append(have.inputs, p.inputs...)
				continue
			}
			byGen[p.g] = p
			list = append(list, p)
		}
	}
	if list == nil {
		return nil, nil
	}
	slices.SortFunc(list, func(a, b *keyPart) int { return int(a.g.num) - int(b.g.num) })
	return s.beginMerge(m, list)
}

// beginMerge marks runs as busy, unless too many merges run.
func (s *Store) beginMerge(m *merges, parts []*keyPart) ([]*keyPart, func()) {
	var n int64
	for _, p := range parts {
		n += p.len()
	}
	end, ok := m.begin(n)
	if !ok {
		return nil, nil
	}
	for _, p := range parts {
		p.begin()
	}
	return parts, end
}

// similar returns four things or more of about one size, or smaller, nil if there
// are none.
func similar[T any](list []T, size func(T) int64) []T {
	const n, spread, most = 4, 3, 64
	slices.SortFunc(list, func(a, b T) int { return int(min(max(size(a)-size(b), -1), 1)) })
	for i := n - 1; i < len(list); i++ {
		if room := spread * size(list[i-n+1]); size(list[i]) <= room {
			for i++; i < len(list) && i < most && size(list[i]) <= room; i++ {
			}
			return list[:i]
		}
	}
	return nil
}
