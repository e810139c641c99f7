package pebblestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// Open brings the places of all runs and the keys of packed rows into memory, and compares
// their numbers with those of the generations. Tables and runs answer, until the index is filled
// from runs and packed rows in the background.
//
// An earlier version leased URLs before the packed keys were in tables. That took a lock, two kinds
// of steps and a phase of the index, and saved 0.2 s at a restart.

// loadKeys loads the state that decides which keys are known.
func (s *Store) loadKeys() error {
	gens := map[uint32]*generation{}
	for g := range s.generations() {
		gens[g.num] = g
	}
	if s.opt.fits(s.keys()) {
		s.index = filling
	}
	for _, c := range s.crawls {
		c.seen = s.newKeySet(c)
	}
	for _, load := range []func(map[uint32]*generation) error{s.loadRuns, s.loadTombs, s.loadPacked} {
		if err := load(gens); err != nil {
			return err
		}
	}
	for _, g := range gens {
		if err := s.checkCount(g); err != nil {
			return err
		}
		g.c.seen.learnPacked(g)
	}
	return nil
}

// scanOf calls f for the rows of a table that generations have.
func (s *Store) scanOf(gens map[uint32]*generation, table byte, f func(g *generation, key, value []byte) error) error {
	return s.scan([]byte{table}, rowBound(table), func(key, value []byte) error {
		if len(key) < 5 || gens[binary.BigEndian.Uint32(key[1:])] == nil {
			return fmt.Errorf("cannot read row %x; got an unknown generation: %w", key, store.ErrCorrupt)
		}
		return f(gens[binary.BigEndian.Uint32(key[1:])], key, value)
	})
}

// loadRuns opens the files of runs, and removes those that no run is in.
func (s *Store) loadRuns(gens map[uint32]*generation) error {
	files := map[string]*runfile.File{} // by name
	err := s.scanOf(gens, tableRun, func(g *generation, key, value []byte) error {
		_, id, place, err := parseRunRow(key, value)
		if err != nil {
			return err
		}
		name := id.Name()
		f := files[name]
		if f == nil {
			if f, err = runfile.Open(s.opt.FS, s.runsDir(), id); errors.Is(err, os.ErrNotExist) {
				err = fmt.Errorf("%w: %w; restore a copy of the directory or import an export", store.ErrCorrupt, err)
			}
			if err != nil {
				return err
			}
			files[name] = f
			s.removeUnused(f)
		}
		r, err := f.Run(g.num, place)
		if err != nil {
			return err
		}
		if err := f.Damage(); err != nil {
			s.damage.note(f.Path(), err)
		}
		f.Use()
		g.runs = append(g.runs, &run{Run: r})
		return nil
	})
	if len(files) > 0 {
		s.cold.left.Store(warmAfter)
	}
	for _, f := range files {
		f.Release()
	}
	if err != nil || s.opt.Mode == OpenReadOnly {
		return err
	}
	return s.cleanRuns(files)
}

// cleanRuns makes the directory of runs, or removes from it the files that no run
// is in: a crash left them.
func (s *Store) cleanRuns(files map[string]*runfile.File) error {
	fs := s.opt.FS
	names, err := fs.List(s.runsDir())
	if errors.Is(err, os.ErrNotExist) {
		if err = fs.MkdirAll(s.runsDir(), 0o755); err == nil {
			err = s.syncDir(s.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot use the directory of runs: %w", err)
	}
	for _, name := range names {
		if files[name] == nil && runName.MatchString(name) { // other names are of others
			_ = fs.Remove(fs.PathJoin(s.runsDir(), name)) // or the next open does
		}
	}
	return nil
}

func (s *Store) loadTombs(gens map[uint32]*generation) error {
	return s.scanOf(gens, tableTomb, func(g *generation, key, _ []byte) error {
		if len(key) != keyRowLen {
			return fmt.Errorf("cannot read tombstone row %x: %w", key, store.ErrCorrupt)
		}
		if g.dead == nil {
			g.dead = map[store.Key]struct{}{}
		}
		g.dead[store.Key(key[5:])] = struct{}{}
		return nil
	})
}

func (s *Store) loadPacked(gens map[uint32]*generation) error {
	s.nextPacked = 1
	return s.scanOf(gens, tablePacked, func(g *generation, key, value []byte) error {
		_, row, value, err := parsePackedRow(key, value)
		if err != nil {
			return err
		}
		s.nextPacked = max(s.nextPacked, row+1)
		g.rows.add(row, value)
		s.packed += int64(len(value) / keyLen)
		return nil
	})
}

// learnPacked adds the packed keys of g to the table.
func (n *keySet) learnPacked(g *generation) {
	young := n.young()
	for _, c := range g.rows.chunks {
		for ; len(c) > 0; c = c[keyLen:] {
			if k := store.Key(c); !g.hidden(&k) {
				young[k] = struct{}{}
			}
		}
	}
}

// checkCount compares the number of keys of g with what its row says.
func (s *Store) checkCount(g *generation) error {
	n := g.packed()
	for _, r := range g.runs {
		n += r.Len()
		if g.low != nil {
			low, err := r.CountUpTo(g.low)
			if errors.Is(err, runfile.ErrDamaged) { // the count cannot be compared: verify reports it
				s.damage.note(r.File.Path(), err)
				return nil
			}
			if err != nil {
				return err
			}
			n -= low
		}
	}
	for k := range g.dead {
		if g.low == nil || k.Compare(*g.low) > 0 {
			n--
		}
	}
	switch {
	case n == g.keys:
		return nil
	case s.opt.Mode == OpenRepair:
		s.repaired = append(s.repaired, fmt.Sprintf("the count of generation %d of crawl %q was corrected from %d to %d keys", g.num, g.c.name, g.keys, n))
		g.keys = n
		return s.db.Set(appendNumbered(nil, tableGen, g.num), appendGeneration(nil, g.c.num, g), pebble.Sync)
	}
	return fmt.Errorf("cannot load generation %d of crawl %q: it has %d keys, and its row counts %d; to correct the count, open it with OpenRepair (firstseen verify --repair): %w",
		g.num, g.c.name, n, g.keys, store.ErrCorrupt)
}

// fillSteps is how many steps fill the index at once, each with the keys of a portion of a run, about
// a quarter of a millisecond. With fewer, filling would take minutes while callers keep the committer busy.
const fillSteps = 32

// startFill begins to fill the index from the runs and packed rows that open found.
func (s *Store) startFill() {
	if s.index != filling {
		return
	}
	if s.keys() == 0 {
		s.endFill()
		return
	}
	held := s.holdRuns()
	var parts []*keyPart
	for g := range s.generations() {
		parts = append(parts, held.parts(g)...)
	}
	// The largest runs come first, as each makes room for all keys of its segments.
	slices.SortFunc(parts, func(a, b *keyPart) int { return cmp.Compare(b.len(), a.len()) })
	s.behind.Go(func() {
		err := s.fill(parts)
		held.release()
		// Only the end of the store fails this step, and that is reported to its callers.
		_ = s.do(context.Background(), stepOp(func(*txn) error {
			if err == nil {
				s.endFill()
				return nil
			}
			// The runs continue to answer, but for keys in the damaged part.
			s.damage.note("", fmt.Errorf("cannot fill the index of store %s: %w", s.dir, err))
			s.leave()
			return nil
		}))
	})
}

// fill adds the keys of parts to the index, a step after the other.
func (s *Store) fill(parts []*keyPart) error {
	if s.opt.holdFill != nil {
		select {
		case <-s.opt.holdFill:
		case <-s.closing:
		}
	}
	eg, ctx := errgroup.WithContext(context.Background())
	eg.SetLimit(fillSteps)
	for _, p := range parts {
		for from := p.keys(); ctx.Err() == nil; {
			keys, err := from.Next()
			if err != nil {
				return errors.Join(err, eg.Wait())
			}
			if len(keys) == 0 {
				break
			}
			keys = slices.Clone(keys)
			eg.Go(func() error {
				return s.do(ctx, stepOp(func(*txn) error {
					if c := p.g.c; !p.g.gone && c.seen.x != nil {
						c.seen.fill(p.g.visible(keys), c.count())
					}
					return nil
				}))
			})
		}
	}
	return eg.Wait()
}

// fill adds ascending keys to the index, which is to have room for so many keys in all.
func (n *keySet) fill(keys []store.Key, room int64) {
	if len(keys) > 0 {
		n.x.Reserve(room, &keys[0], &keys[len(keys)-1])
		n.x.AddSorted(keys, indexes(len(keys)), make([]bool, len(keys)))
	}
}

func (s *Store) endFill() {
	if s.index != filling { // it outgrew its budget
		return
	}
	s.index = answers
	if s.opt.Exact {
		return
	}
	for _, c := range s.crawls {
		c.seen.tables = nil
	}
}
