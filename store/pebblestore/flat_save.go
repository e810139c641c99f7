package pebblestore

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flatrun"
)

// Close leaves the runs for the next open, and says so in one row that names
// them. Open takes that row away before anything is written, so that runs are
// never trusted after a kill or a power cut: then they are made of the rows anew.
// The row also has a stamp of the generations as they were, in case a program
// that knows nothing of runs wrote meanwhile.

// savedRuns is what Close left of a crawl.
type savedRuns struct {
	stamp uint64
	runs  []flatrun.ID
	gone  flatrun.ID // the run of keys that were forgotten; zero: none
}

// stampOf tells the rows of the generations of c from those at another time.
func stampOf(c *crawl) uint64 {
	h := fnv.New64a()
	for _, g := range c.gens {
		_, _ = h.Write(appendNumbered(nil, tableGen, g.num))
		_, _ = h.Write(appendGeneration(nil, c.num, g))
	}
	return h.Sum64()
}

// appendSaved appends what was left of a crawl.
func appendSaved(dst []byte, crawl uint32, v savedRuns) []byte {
	dst = binary.BigEndian.AppendUint32(dst, crawl)
	dst = binary.BigEndian.AppendUint64(dst, v.stamp)
	dst = append(dst, v.gone[:]...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.runs)))
	for _, id := range v.runs {
		dst = append(dst, id[:]...)
	}
	return dst
}

// parseSaved is the inverse of appendSaved, for all crawls. What it can't read
// wasn't left.
func parseSaved(b []byte) map[uint32]savedRuns {
	saved := map[uint32]savedRuns{}
	for len(b) >= 32 {
		v := savedRuns{stamp: binary.BigEndian.Uint64(b[4:]), gone: flatrun.ID(b[12:])}
		crawl, n := binary.BigEndian.Uint32(b), int64(binary.BigEndian.Uint32(b[28:]))
		if b = b[32:]; int64(len(b)) < n*16 {
			break
		}
		for ; n > 0; n-- {
			v.runs, b = append(v.runs, flatrun.ID(b)), b[16:]
		}
		saved[crawl] = v
	}
	return saved
}

// takeSaved notes the runs that can be used, and takes away their row and the
// files of all others.
func (s *Store) takeSaved() error {
	if s.opt.ReadOnly {
		return nil
	}
	row, err := s.get(metaKey(metaRuns))
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return err
	}
	keep := map[string]bool{}
	for num, v := range parseSaved(row) {
		c := s.byNum[num]
		if s.mode != IndexFlat || s.opt.Repair || c == nil || stampOf(c) != v.stamp {
			continue
		}
		if s.saved == nil {
			s.saved = map[uint32]savedRuns{}
		}
		s.saved[num] = v
		for _, id := range append(v.runs, v.gone) {
			keep[s.runPath(id)] = true
		}
	}
	if row != nil {
		// Not synced: what is written later is only there if this is.
		if err := s.db.Delete(metaKey(metaRuns), pebble.NoSync); err != nil {
			return err
		}
	}
	s.removeRuns(keep)
	return nil
}

// removeRuns removes the files of runs but for some, and their directory if
// nothing is left. What can't be removed is in nobody's way.
func (s *Store) removeRuns(keep map[string]bool) {
	dir := s.runsDir()
	names, err := s.opt.FS.List(dir)
	if err != nil {
		return // as a rule there is no such directory
	}
	for _, name := range names {
		if path := s.opt.FS.PathJoin(dir, name); !keep[path] {
			_ = s.opt.FS.Remove(path)
		}
	}
	if len(keep) == 0 {
		_ = s.opt.FS.Remove(dir)
	}
}

// load brings the keys of c into the set at open: from the runs that Close left,
// or from the rows, into one run or, if they are few, the delta.
func (f *flat) load(r pebble.Reader, c *crawl) (done bool, err error) {
	if v, ok := f.s.saved[c.num]; ok && f.adopt(v) {
		f.measure()
		return true, nil
	}
	if c.count() <= int64(f.s.opt.deltaKeys()) {
		return false, nil
	}
	run, counts, err := f.readRows(r, c)
	if errors.Is(err, errStopped) {
		return true, store.ErrClosed
	}
	if err != nil {
		return true, f.loadBlind(r, c)
	}
	f.runs = append(f.runs, run)
	f.measure()
	for i, g := range c.gens {
		if err := f.s.checkCount(c, g, counts[i]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// loadBlind is load when no run could be written: the rows are read all the same,
// to compare their number.
func (f *flat) loadBlind(r pebble.Reader, c *crawl) error {
	f.blind = true
	for _, g := range c.gens {
		n, err := f.s.readKeys(r, appendNumbered(nil, tableSeen, g.num), afterNumbered(tableSeen, g.num), func([]store.Key) {})
		if err == nil && f.stopped() {
			err = store.ErrClosed
		}
		if err == nil {
			err = f.s.checkCount(c, g, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adopt opens what Close left, all of it or nothing.
func (f *flat) adopt(v savedRuns) bool {
	for _, id := range v.runs {
		run, err := flatrun.Open(f.s.opt.FS, f.s.runPath(id))
		if err != nil {
			break
		}
		f.runs = append(f.runs, run)
		if run.ID() != id {
			break
		}
	}
	if len(f.runs) == len(v.runs) && f.readGone(v.gone) == nil {
		return true
	}
	f.discardAll(f.runs)
	for _, id := range append(v.runs, v.gone) {
		_ = f.s.opt.FS.Remove(f.s.runPath(id))
	}
	f.runs = nil
	clear(f.gone)
	return false
}

// readGone reads the run of forgotten keys.
func (f *flat) readGone(id flatrun.ID) error {
	if id == (flatrun.ID{}) {
		return nil
	}
	run, err := flatrun.Open(f.s.opt.FS, f.s.runPath(id))
	if err != nil {
		return err
	}
	defer f.discard(run)
	for from := run.Read(); ; {
		keys, err := from.Next()
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			f.gone[k] = struct{}{}
		}
	}
}

// saveRuns leaves the runs of all crawls for the next open. It is no harm if it
// can't.
func (s *Store) saveRuns() {
	if !s.indexed() || s.loadErr != nil {
		return // the sets aren't whole
	}
	var row []byte
	for _, c := range s.crawls {
		f, ok := c.seen.(*flat)
		if !ok || s.opt.ReadOnly {
			continue
		}
		if v, ok := f.save(); ok {
			v.stamp = stampOf(c)
			row = appendSaved(row, c.num, v)
		}
	}
	if row == nil || s.syncRuns() != nil {
		return
	}
	_ = s.attempt(func() error { return s.db.Set(metaKey(metaRuns), row, pebble.Sync) })
}

// syncRuns makes the files' names durable.
func (s *Store) syncRuns() error {
	for _, dir := range []string{s.runsDir(), s.dir} {
		d, err := s.opt.FS.OpenDir(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
	}
	return nil
}

// save writes what is in memory as runs, and syncs all of them.
func (f *flat) save() (v savedRuns, ok bool) {
	f.await()
	if f.blind {
		return v, false
	}
	f.saving = true
	for _, d := range append(f.frozen, f.delta) {
		keys := d.sorted()
		if len(keys) == 0 {
			continue
		}
		run, err := f.write(&listSource{keys}, int64(len(keys)))
		if err != nil {
			return v, false
		}
		f.runs = append(f.runs, run)
	}
	for _, r := range f.runs {
		v.runs = append(v.runs, r.ID())
	}
	if len(f.gone) > 0 {
		keys := make([]store.Key, 0, len(f.gone))
		for k := range f.gone {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, store.Key.Compare)
		run, err := f.write(&listSource{keys}, int64(len(keys)))
		if err != nil {
			return v, false
		}
		v.gone = run.ID()
		run.Close()
	}
	for _, id := range append(slices.Clone(v.runs), v.gone) {
		if id != (flatrun.ID{}) && f.syncRun(id) != nil {
			return v, false
		}
	}
	f.saved = true
	return v, true
}

func (f *flat) syncRun(id flatrun.ID) error {
	file, err := f.s.opt.FS.OpenReadWrite(f.s.runPath(id), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
