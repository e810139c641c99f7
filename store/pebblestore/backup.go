package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// A backup is a Pebble checkpoint, which links the tables and copies the log, and links to the run files that the rows of
// the checkpoint name. Only Pebble knows the moment of the checkpoint, so no run file is removed meanwhile, and the copy is opened to see
// which files it names. Reading the names first would miss a run that is made before the checkpoint.

// BackupSize is the size of a backup.
type BackupSize struct {
	Keys   int64 // known
	Bytes  int64 // of all files
	Copied int64 // bytes that no other directory shares
}

// Backup writes a copy of the store, which Open opens, into a directory that must not exist.
// Other steps continue in the meantime. The copy is the store as it was at one moment during
// the call, with everything acknowledged before the call.
//
// On the store's file system the copy shares files that never change, by hard
// links: nearly all of them. On another, it shares run files with the earlier
// backups. The copy is durable when Backup returns nil. An error leaves no directory; a crash
// may leave a part of one, so the caller renames the directory when it is complete.
func (s *Store) Backup(ctx context.Context, dir string, earlier ...string) (size BackupSize, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot back up store %s to %s: %w", s.dir, dir, err)
		}
	}()
	if s.opt.Mode == OpenReadOnly {
		return size, fault.As(store.ErrInvalid, "the store is open for reading only")
	}
	done, err := s.linger()
	if err != nil {
		return size, err
	}
	defer done()
	if _, err := s.opt.FS.Stat(dir); err == nil {
		return size, fault.As(store.ErrInvalid, "the directory exists")
	}
	// The rows of the checkpoint name its run files, and only Pebble knows its moment.
	// So no file that any row names until then is removed.
	defer s.holdFiles()()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.opt.FS.RemoveAll(dir))
		}
	}()
	b := &backup{s: s, ctx: ctx, dir: dir, earlier: earlier}
	for _, step := range []func() error{b.database, b.runFiles, b.measure} {
		if err := step(); err != nil {
			return size, err
		}
	}
	return b.size, nil
}

// backup is a backup that is being made.
type backup struct {
	s       *Store
	ctx     context.Context
	dir     string
	earlier []string
	runs    map[runfile.ID]struct{} // those that a row names
	shares  bool                    // the file system of the store
	noted   *note
	size    BackupSize
}

// ended returns an error if the backup must stop.
func (b *backup) ended() error { return cmp.Or(b.s.usable(), b.ctx.Err()) }

// maxCheckpoints bounds the attempts at a checkpoint.
const maxCheckpoints = 3

// database copies the rows.
//
// Pebble reuses its logs and copies them while it writes to them. The copy may miss a part of
// the log and have a later one, which Pebble reports as corruption. Another attempt then
// shows whether the store itself is damaged.
func (b *backup) database() (err error) {
	for range maxCheckpoints {
		acked := b.s.note.acked.Load()
		if err = b.checkpoint(); err == nil {
			err = cmp.Or(b.look(), b.note(acked))
		}
		if !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		if err := b.s.opt.FS.RemoveAll(b.dir); err != nil {
			return err
		}
	}
	return err
}

// checkpoint has Pebble copy its files. Its log is short after a flush.
func (b *backup) checkpoint() error {
	if err := b.ended(); err != nil {
		return err
	}
	err := guard(func() error { // Pebble panics if it cannot sync the new directory
		return errors.Join(b.s.db.Flush(), b.s.db.Checkpoint(b.dir))
	})
	return cmp.Or(b.ended(), corruption(err))
}

// note makes the note of the copy, which must have all acknowledged changes.
func (b *backup) note(acked uint64) error {
	c, err := list(b.s.opt.FS, b.dir)
	if err != nil {
		return err
	}
	if b.noted, err = noteOf(c, b.s.opt.format); err == nil && b.noted.acked > 0 && b.noted.acked < acked {
		err = fmt.Errorf("the copied log ends too early: %w", store.ErrCorrupt)
	}
	return err
}

// look opens the copied database for reading, notes the run files that it names, and counts its keys.
func (b *backup) look() (err error) {
	opt := b.s.opt
	opt.Mode, opt.CacheBytes = OpenReadOnly, 8<<20
	db, err := openPebble(b.dir, opt, newHealth(), nil)
	if err != nil {
		return err
	}
	defer func() { err = corruption(errors.Join(err, db.Close())) }()
	b.runs, b.size.Keys = map[runfile.ID]struct{}{}, 0
	err = scanRows(db, []byte{tableRun}, rowBound(tableRun), func(key, value []byte) error {
		_, id, _, err := parseRunRow(key, value)
		b.runs[id] = struct{}{}
		return err
	})
	if err != nil {
		return err
	}
	return scanRows(db, []byte{tableGen}, rowBound(tableGen), func(key, value []byte) error {
		_, g, err := parseGeneration(key, value)
		if err == nil {
			b.size.Keys += g.keys
		}
		return err
	})
}

// runFiles links or copies the run files.
func (b *backup) runFiles() error {
	fs := b.s.opt.FS
	probe := fs.PathJoin(b.dir, "probe")
	if b.shares = fs.Link(fs.PathJoin(b.s.dir, "LOCK"), probe) == nil; b.shares {
		if err := fs.Remove(probe); err != nil {
			return err
		}
	}
	to := fs.PathJoin(b.dir, "runs")
	if err := fs.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for id := range b.runs {
		if err := b.ended(); err != nil {
			return err
		}
		if err := b.runFile(id.Name()); err != nil {
			return fmt.Errorf("cannot copy run file %s: %w", id.Name(), err)
		}
	}
	for id := range b.runs {
		f, err := runfile.Open(fs, to, id)
		if err != nil {
			return err
		}
		b.noted.runs = append(b.noted.runs, noteOfRun(f))
		f.Release()
	}
	slices.SortFunc(b.noted.runs, runNote.compare)
	return errors.Join(b.s.syncDir(to), writeNote(fs, b.dir, b.noted.append(nil)), b.s.syncDir(fs.PathDir(b.dir)))
}

// runFile links a run file of the store or of an earlier backup, or copies it. Files with the same name are equal.
func (b *backup) runFile(name string) error {
	fs := b.s.opt.FS
	to := fs.PathJoin(b.dir, "runs", name)
	linked := slices.ContainsFunc(append([]string{b.s.dir}, b.earlier...), func(dir string) bool {
		return fs.Link(fs.PathJoin(dir, "runs", name), to) == nil
	})
	if !linked {
		if err := b.copyFile(fs.PathJoin(b.s.runsDir(), name), to); err != nil {
			return err
		}
	}
	return b.count(to, linked)
}

func (b *backup) count(path string, linked bool) error {
	info, err := b.s.opt.FS.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	b.size.Bytes += info.Size()
	if !linked {
		b.size.Copied += info.Size()
	}
	return nil
}

// copyPiece is how many bytes are copied between syncs: a long sync would hold up callers'
// syncs.
const copyPiece = 1 << 20

func (b *backup) copyFile(from, to string) error {
	in, err := b.s.opt.FS.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was read only
	out, err := b.s.opt.FS.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = io.CopyN(out, in, copyPiece)
		err = cmp.Or(b.ended(), out.SyncData(), err)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, out.Sync(), out.Close())
}

// measure counts the files of the database. Pebble linked the tables if it could.
func (b *backup) measure() error {
	fs := b.s.opt.FS
	names, err := fs.List(b.dir)
	for _, name := range names {
		err = errors.Join(err, b.count(fs.PathJoin(b.dir, name), b.shares && strings.HasSuffix(name, ".sst")))
	}
	return err
}
