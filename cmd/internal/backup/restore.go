package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// Restore makes a store of a backup, in a directory that does not exist or is empty. Files
// that never change are shared with the backup where the file system can. It opens the store
// once, so that a damaged backup is noticed now; reading all of it is for verify.
func Restore(ctx context.Context, from, to string) (info Info, err error) {
	info, err = readNote(from)
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("cannot restore %s: it is no complete backup; it has no %s", from, noteName)
	}
	if err != nil {
		return info, err
	}
	if err := wantEmpty(to); err != nil {
		return info, err
	}
	tmp := filepath.Clean(to) + partial
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot restore %s to %s: %w", from, to, err), remove(tmp))
		}
	}()
	if err := remove(tmp); err != nil { // of an attempt that was ended
		return info, err
	}
	if err := copyTree(ctx, from, tmp); err != nil {
		return info, err
	}
	s, err := pebblestore.Open(tmp, pebblestore.Options{Mode: pebblestore.OpenReadOnly, IndexBytes: -1})
	if err != nil {
		return info, err
	}
	if err := s.Close(); err != nil {
		return info, err
	}
	return info, durable.Publish(tmp, to)
}

func wantEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("cannot restore to %s: it is not empty; move it away first", dir)
	}
	return err
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
		_, err = durable.CopyFile(path, target)
		return err
	})
	for _, dir := range dirs {
		if err == nil {
			err = durable.SyncDir(dir)
		}
	}
	return err
}

// neverChanges reports whether the store only reads and removes a file: Pebble's tables and
// the runs.
func neverChanges(rel string) bool {
	return strings.HasSuffix(rel, ".sst") || filepath.Dir(rel) == "runs"
}
