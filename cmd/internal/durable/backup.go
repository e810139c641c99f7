package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// The errors of Make that the caller causes.
var (
	ErrName   = errors.New("want a name of up to 100 letters, digits, dots, hyphens and underscores that begins with a letter or digit")
	ErrExists = errors.New("there is a backup of that name")
	ErrBusy   = errors.New("another backup is being made")
)

// noteName is the note in the directory of a backup.
const noteName = "backup.json"

// partial ends the name of a backup that is being made.
const partial = ".partial"

var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Store is a store that can be backed up.
type Store interface {
	Backup(ctx context.Context, dir string, earlier ...string) (pebblestore.BackupSize, error)
}

// Backups are the backups of a store on disk in a directory, each in a directory of its own, which is a store with a note beside
// it. A backup gets its name when it is complete and durable. A directory without a note is none: a crash leaves a directory of
// another name, and the next OpenBackups removes it.
type Backups struct {
	path  string
	store Store
	from  string // the directory of the store
	mu    sync.Mutex
}

// OpenBackups opens a directory of backups of a store, which is in the directory from. It makes the
// directory, and removes the parts of backups that were not completed.
func OpenBackups(path string, s Store, from string) (*Backups, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("cannot make the directory of backups: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("cannot list backups: %w", err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), partial); !ok || !names.MatchString(name) || !e.IsDir() {
			continue
		}
		if err := remove(filepath.Join(path, e.Name())); err != nil && !errors.Is(err, store.ErrInvalid) { // what others put there stays
			return nil, fmt.Errorf("cannot remove an incomplete backup: %w", err)
		}
	}
	return &Backups{path: path, store: s, from: from}, nil
}

// Make makes a backup. An empty name is replaced by the time. If keep is above 0, the oldest
// backups beyond that number are removed afterwards.
func (d *Backups) Make(ctx context.Context, name string, keep int) (wire.Backup, error) {
	began := time.Now()
	if name == "" {
		name = began.UTC().Format("2006-01-02T150405Z")
	}
	if !names.MatchString(name) || strings.HasSuffix(name, partial) {
		return wire.Backup{}, fmt.Errorf("cannot back up; got name %q: %w", name, ErrName)
	}
	if !d.mu.TryLock() {
		return wire.Backup{}, fmt.Errorf("cannot back up: %w", ErrBusy)
	}
	defer d.mu.Unlock()
	if _, err := os.Lstat(filepath.Join(d.path, name)); err == nil {
		return wire.Backup{}, fmt.Errorf("cannot back up; got name %q: %w", name, ErrExists)
	}
	info := wire.Backup{Name: name, Created: began.UTC()}
	if err := d.make(ctx, &info); err != nil {
		return wire.Backup{}, err
	}
	if keep > 0 {
		removed, err := d.prune(keep)
		info.Removed = removed
		return info, err
	}
	return info, nil
}

func (d *Backups) make(ctx context.Context, info *wire.Backup) (err error) {
	earlier, err := d.whole()
	if err != nil {
		return err
	}
	tmp := filepath.Join(d.path, info.Name+partial)
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(tmp))
		}
	}()
	if err := remove(tmp); err != nil {
		return err
	}
	size, err := d.store.Backup(ctx, tmp, d.paths(earlier)...)
	if err != nil {
		return err
	}
	besides, err := copyBesides(d.from, tmp)
	if err != nil {
		return fmt.Errorf("cannot back up what is beside the store: %w", err)
	}
	info.Keys, info.Bytes, info.Copied = size.Keys, size.Bytes+besides, size.Copied+besides
	info.Seconds = time.Since(info.Created).Seconds()
	note, err := Marshal(info)
	if err != nil {
		return err
	}
	_, err = writeNew(filepath.Join(tmp, noteName), bytes.NewReader(append(note, '\n')))
	if err = errors.Join(err, SyncDir(tmp)); err != nil {
		return err
	}
	return Rename(tmp, filepath.Join(d.path, info.Name))
}

// paths returns the directories of backups, the latest first.
func (d *Backups) paths(all []wire.Backup) (dirs []string) {
	for _, b := range slices.Backward(all) {
		dirs = append(dirs, filepath.Join(d.path, b.Name))
	}
	return dirs
}

// List lists the backups, the oldest first.
func (d *Backups) List() ([]wire.Backup, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("cannot list backups: %w", err)
	}
	all := []wire.Backup{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partial) || !e.IsDir() {
			continue
		}
		info, err := readNote(filepath.Join(d.path, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not a backup, or removed since
		}
		if err != nil { // it is listed, and nothing more: others can be made and removed
			info = wire.Backup{Name: e.Name(), Damaged: err.Error()}
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b wire.Backup) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// whole lists the backups whose notes can be read.
func (d *Backups) whole() ([]wire.Backup, error) {
	all, err := d.List()
	return slices.DeleteFunc(all, func(b wire.Backup) bool { return b.Damaged != "" }), err
}

// remove removes a backup, or a part of one. If it has what no backup has, it stays.
func remove(dir string) error {
	return pebblestore.Remove(dir, append([]string{noteName}, besides...)...)
}

// prune removes the oldest backups beyond a number.
func (d *Backups) prune(keep int) (removed []string, err error) {
	all, err := d.whole()
	if err != nil {
		return nil, err
	}
	for len(all) > keep {
		old := filepath.Join(d.path, all[0].Name)
		// Without its note it is no backup, whatever is removed before a crash.
		if err := os.Rename(old, old+partial); err != nil {
			return removed, fmt.Errorf("cannot remove an old backup: %w", err)
		}
		if err := remove(old + partial); err != nil {
			return removed, fmt.Errorf("cannot remove an old backup: %w", err)
		}
		removed, all = append(removed, all[0].Name), all[1:]
	}
	return removed, nil
}

// readNote reads the note of a backup. Its name is that of the directory.
func readNote(dir string) (wire.Backup, error) {
	text, err := os.ReadFile(filepath.Join(dir, noteName))
	if err != nil {
		return wire.Backup{}, err
	}
	var info wire.Backup
	if err := Unmarshal(text, &info); err != nil {
		return wire.Backup{}, fmt.Errorf("cannot read %s: %w", filepath.Join(dir, noteName), err)
	}
	info.Name = filepath.Base(dir)
	return info, nil
}

// besides are the files in the directory of a store that are not the store's own. The
// fetches are lines with checksums, so that a copy may end within one. declared.json is replaced
// by a rename, so that a copy is whole.
var besides = []string{"imports.jsonl", "declared.json", filepath.Join("captures", "captures.log")}

// copyBesides copies these files, and returns their size.
func copyBesides(from, to string) (n int64, err error) {
	for _, name := range besides {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return n, err
		}
		some, err := copyFile(source, target)
		if err = errors.Join(err, SyncDir(filepath.Dir(target))); err != nil {
			return n, err
		}
		n += some
	}
	return n, nil
}

// Restore makes a store of a backup, in a directory that does not exist or is empty. Files
// that never change are shared with the backup where the file system can. It opens the store
// once, so that a damaged backup is noticed now; reading all of it is for verify.
func Restore(ctx context.Context, from, to string) (info wire.Backup, err error) {
	info, err = readNote(from)
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("cannot restore %s: it is no complete backup; it has no %s", from, noteName)
	}
	if err != nil {
		return info, err
	}
	err = Build(to, func(tmp string) error {
		if err := copyTree(ctx, from, tmp); err != nil {
			return err
		}
		s, err := pebblestore.Open(tmp, pebblestore.Options{Mode: pebblestore.OpenReadOnly, IndexBytes: -1})
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err != nil {
		err = fmt.Errorf("cannot restore %s to %s: %w", from, to, err)
	}
	return info, err
}

// copyTree links or copies the files of a store and those beside it. Those of others are left out.
func copyTree(ctx context.Context, from, to string) error {
	dirs := []string{filepath.Dir(to)}
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir() && rel != "." && rel != "runs" && rel != "captures":
			return filepath.SkipDir // of others
		case e.IsDir():
			dirs = append(dirs, target)
			return os.Mkdir(target, 0o755)
		case rel == "LOCK" || !pebblestore.IsFile(filepath.ToSlash(rel)) && !slices.Contains(besides, rel):
			return nil
		case neverChanges(rel) && os.Link(path, target) == nil:
			return nil
		}
		_, err = copyFile(path, target)
		return err
	})
	for _, dir := range dirs {
		if err == nil {
			err = SyncDir(dir)
		}
	}
	return err
}

// neverChanges reports whether the store only reads and removes a file: Pebble's tables and
// the runs.
func neverChanges(rel string) bool {
	return strings.HasSuffix(rel, ".sst") || filepath.Dir(rel) == "runs"
}
