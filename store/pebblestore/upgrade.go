package pebblestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// An upgrade changes the rows of one format into those of the next. It works on a copy, which is
// discarded unless completed, so it may write any number of batches.
type upgrade func(u *upgrading, db *pebble.DB) error

// upgrades has the upgrade from each format that can be read to the next. Format 3 is the oldest
// that is ever read: a change of formatVersion needs the upgrade from the format before.
var upgrades = map[uint32]upgrade{3: (*upgrading).from3}

// Upgrade copies the store in directory from to directory to, in the format that this program
// reads and writes: keys with their ages, queues, leases and settings. It returns the format of
// the store before and after. If they are equal, it copies nothing.
//
// The store in from is locked in the meantime, and does not change. The directory to must be empty
// or not exist. It appears when the copy is complete, verified and durable. A crash leaves at most
// a directory to.partial, which the next Upgrade replaces.
//
// Errors: as from [Open]; store.ErrFormat if the format is newer than this program, or too old to be
// read; store.ErrCorrupt if the copy does not verify.
func Upgrade(ctx context.Context, from, to string, opt Options) (was, now int, err error) {
	opt = opt.withDefaults()
	u := &upgrading{ctx: ctx, opt: opt, from: from, to: to, tmp: to + ".partial"}
	if u.was, err = u.copy(); err != nil || u.was == opt.format {
		return int(u.was), int(opt.format), err
	}
	if err = u.complete(); err != nil {
		err = errors.Join(fmt.Errorf("cannot migrate store %s to %s: %w", from, to, err), opt.FS.RemoveAll(u.tmp))
	}
	return int(u.was), int(opt.format), err
}

// upgrading is an upgrade in progress.
type upgrading struct {
	ctx           context.Context
	opt           Options
	from, to, tmp string
	was           uint32
}

// copy copies the files of a store that has another format, and returns its format.
func (u *upgrading) copy() (was uint32, err error) {
	u.opt.Mode = OpenReadOnly
	lock, err := lockDir(u.opt.FS, u.from)
	if err != nil {
		return 0, fmt.Errorf("cannot open store %s: %w", u.from, err)
	}
	if u.opt.locked = lock != nil; u.opt.locked {
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	n, err := examine(u.from, &u.opt)
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot open store %s: %w", u.from, err)
	case n == nil || n.creating:
		return 0, fault.As(store.ErrNotFound, "cannot open store %s: the directory has no store", u.from)
	}
	db, err := openPebble(u.from, u.opt, newHealth(), nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if was, err = formatOf(db); err != nil || was == u.opt.format {
		return was, err
	}
	if err := u.opt.readable(was); err != nil {
		return was, fmt.Errorf("cannot migrate store %s: %w", u.from, err)
	}
	names, err := u.opt.FS.List(u.to)
	switch {
	case err == nil && len(names) > 0:
		return was, fault.As(store.ErrInvalid, "cannot migrate to %s: it is not empty; move it away first", u.to)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return was, err
	}
	if err := removeStore(u.opt.FS, u.tmp); err != nil { // of an attempt that was ended
		return was, err
	}
	return was, u.files()
}

// readable returns an error unless upgrades lead from a format to the one that is read.
func (o *Options) readable(format uint32) error {
	switch {
	case format == 0:
		return fault.As(store.ErrNotFound, "the directory has no store")
	case format > o.format:
		return fault.As(store.ErrFormat, "it has format %d, and this program reads format %d; use a program as new as the one that made it", format, o.format)
	}
	for f := format; f < o.format; f++ {
		if o.upgrades[f] == nil {
			return fault.As(store.ErrFormat, "it has format %d, and this program reads format %d only; "+
				"export its URLs with the program that made it (firstseen export --db OLD --urls), "+
				"and import them into a new store", format, o.format)
		}
	}
	return nil
}

// files links the files that never change, or copies them, and then copies the others.
func (u *upgrading) files() error {
	fs := u.opt.FS
	fixed := func(path string) bool { return strings.HasSuffix(path, ".sst") || strings.HasSuffix(path, ".run") }
	// What remains when the context has ended is left out.
	_, errFixed := vfs.Clone(fs, fs, u.from, u.tmp, vfs.CloneSync, vfs.CloneTryLink, vfs.CloneSkip(func(path string) bool {
		return !fixed(path) && fs.PathBase(path) != "runs" || u.ctx.Err() != nil
	}))
	_, errRest := vfs.Clone(fs, fs, u.from, u.tmp, vfs.CloneSync, vfs.CloneSkip(func(path string) bool {
		return fixed(path) || fs.PathBase(path) == "LOCK" || u.ctx.Err() != nil
	}))
	if err := errors.Join(errFixed, errRest); err != nil {
		return fmt.Errorf("cannot copy store %s: %w", u.from, err)
	}
	return u.ctx.Err()
}

// complete upgrades the copy, verifies it and renames it.
func (u *upgrading) complete() error {
	if err := u.steps(); err != nil {
		return err
	}
	fs := u.opt.FS
	c, err := list(fs, u.tmp)
	if err != nil {
		return err
	}
	if err := renote(c, u.opt.format); err != nil {
		return err
	}
	if err := u.verify(); err != nil {
		return err
	}
	if err := fs.Remove(u.to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := fs.Rename(u.tmp, u.to); err != nil {
		return err
	}
	return syncDir(fs, fs.PathDir(u.to))
}

// steps takes the copy from format to format.
func (u *upgrading) steps() (err error) {
	h := newHealth()
	u.opt.Mode = OpenExisting
	db, err := openPebble(u.tmp, u.opt, h, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(), h.failure()) }()
	for format := u.was; format < u.opt.format; format++ {
		if err := u.opt.upgrades[format](u, db); err != nil {
			return fmt.Errorf("cannot take its rows from format %d to %d: %w", format, format+1, err)
		}
		if err := db.Set(metaKey(metaFormat), binary.BigEndian.AppendUint32(nil, format+1), pebble.Sync); err != nil {
			return err
		}
	}
	return db.Flush()
}

// from3 takes the rows from format 3 to 4.
func (u *upgrading) from3(db *pebble.DB) error { return errors.Join(u.leases(db), u.runs(db)) }

// leases writes the rows of leases again. Format 3 wrote the row of a lease that was extended twice, and format 4 deletes
// rows of leases by single deletes: see txn.singleDelete.
func (u *upgrading) leases(db *pebble.DB) error {
	b := db.NewBatch()
	err := scanRows(db, []byte{tableLease}, rowBound(tableLease), func(key, value []byte) error {
		return errors.Join(b.Delete(key, nil), b.Set(key, value, nil))
	})
	if err == nil {
		err = b.Commit(pebble.Sync)
	}
	return errors.Join(err, b.Close())
}

// runs writes the run files again: their checksums cover where something is.
func (u *upgrading) runs(db *pebble.DB) error {
	files := map[runfile.ID][]section{}
	err := scanRows(db, []byte{tableRun}, rowBound(tableRun), func(key, value []byte) error {
		gen, id, place, err := parseRunRow(key, value)
		files[id] = append(files[id], section{gen, place})
		return err
	})
	if err != nil {
		return err
	}
	dir := u.opt.FS.PathJoin(u.tmp, "runs")
	for id, sections := range files {
		b := db.NewBatch()
		err := u.copyRuns(dir, id, sections, b)
		if err == nil {
			err = b.Commit(pebble.Sync)
		}
		if err = errors.Join(err, b.Close()); err != nil {
			return err
		}
		if err := u.opt.FS.Remove(u.opt.FS.PathJoin(dir, id.Name())); err != nil {
			return err
		}
	}
	return syncDir(u.opt.FS, dir)
}

// section is a run in a file.
type section struct {
	gen   uint32
	place runfile.Place
}

// copyRuns makes a run file of another, and adds the rows that name it in place of that to a batch.
func (u *upgrading) copyRuns(dir string, from runfile.ID, sections []section, b *pebble.Batch) (err error) {
	old, err := runfile.Open(u.opt.FS, dir, from)
	if err != nil {
		return err
	}
	defer old.Release()
	var to runfile.ID
	_, _ = rand.Read(to[:]) // it never fails
	w, err := runfile.Create(u.opt.FS, dir, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, s := range sections {
		place, err := copyRun(u.ctx, old, w, s.gen, s.place)
		if err != nil {
			return err
		}
		if err := errors.Join(b.Delete(appendRunRow(nil, s.gen, from), nil), b.Set(appendRunRow(nil, s.gen, to), appendPlace(nil, place), nil)); err != nil {
			return err
		}
	}
	return w.Finish()
}

// copyRun copies a run, and returns its place in the new file.
func copyRun(ctx context.Context, old *runfile.File, w *runfile.Writer, owner uint32, at runfile.Place) (place runfile.Place, err error) {
	r, err := old.Run(owner, at)
	if err != nil {
		return place, err
	}
	w.Begin(owner, at.Keys)
	for from := r.Read(nil); ; {
		keys, err := from()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return place, err
		}
		if len(keys) == 0 {
			return w.End()
		}
		if err := w.Add(keys); err != nil {
			return place, err
		}
	}
}

// verify opens the copy as a store and reads all of it.
func (u *upgrading) verify() (err error) {
	opt := u.opt
	opt.Mode, opt.AlsoSeen, opt.IndexBytes = OpenReadOnly, nil, -1
	s, err := Open(u.tmp, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.verifies(u.ctx); err != nil {
		return fmt.Errorf("the copy does not verify: %w", err)
	}
	return nil
}
