package pebblestore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
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
	err := s.do(context.Background(), stepOp(func(tx *txn) error {
		if tx.flush(); tx.err == nil {
			parts, leaving = tx.freeze(), s.index == outgrown
		}
		return tx.err
	}))
	if err != nil {
		return err
	}
	if err := s.makeRuns(parts); err != nil {
		return err
	}
	return s.do(context.Background(), stepOp(func(*txn) error {
		for _, c := range s.crawls {
			if young := c.seen.young(); young != nil {
				c.seen.tables = []packedTable{young}
			}
		}
		if leaving && s.index == outgrown {
			s.leave()
		}
		return nil
	}))
}

// merges are those that run: at most a small one and a large one.
type merges struct {
	sync.WaitGroup
	small, big sync.Mutex
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

// similar returns four files or more of about one size, or smaller, nil if there are none.
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
