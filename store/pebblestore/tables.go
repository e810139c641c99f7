package pebblestore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// seenTable writes a table of the seen rows of keys, which ascend, and returns its
// path.
func (s *Store) seenTable(g *generation, keys []store.Key) (string, error) {
	path := s.tempTable()
	return path, s.writeTable(path, func(w *sstable.Writer) error {
		row := make([]byte, 0, seenRowLen)
		for i := range keys {
			row = appendSeenRow(row[:0], g.num, &keys[i])
			if err := w.Set(row, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// countTable writes a table of the row of g, and returns its path.
func (s *Store) countTable(c *crawl, g *generation) (string, error) {
	path := s.tempTable()
	return path, s.writeTable(path, func(w *sstable.Writer) error {
		return w.Set(appendNumbered(nil, tableGen, g.num), appendGeneration(nil, c.num, g))
	})
}

// writeTable writes a table of the rows that fill sets, and syncs it.
func (s *Store) writeTable(path string, fill func(*sstable.Writer) error) error {
	f, err := s.opt.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("cannot import: %w", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.pebble.MakeWriterOptions(6, s.db.TableFormat()))
	if err := fill(w); err != nil {
		_ = w.Close() // the first error says more
		return fmt.Errorf("cannot import: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("cannot import: %w", err)
	}
	return nil
}

// Names of tables that an import writes, before they go into the database.
const tempPrefix, tempSuffix = "import-", ".tmp"

// tempTable returns the name of a new one.
func (s *Store) tempTable() string {
	return s.opt.FS.PathJoin(s.dir, fmt.Sprintf("%s%d%s", tempPrefix, s.temps.Add(1), tempSuffix))
}

// removeTempTables removes what an import left that was cut off.
func (s *Store) removeTempTables() error {
	names, err := s.opt.FS.List(s.dir)
	if err != nil {
		return fmt.Errorf("cannot clean up after an import: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix) {
			if err := s.removeTable(s.opt.FS.PathJoin(s.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeTable removes a table that doesn't go into the database, if there is one.
func (s *Store) removeTable(path string) error {
	if path == "" {
		return nil
	}
	if err := s.opt.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot clean up after an import: %w", err)
	}
	return nil
}
