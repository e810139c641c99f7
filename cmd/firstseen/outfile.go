package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// An outFile is a file that is there whole or not at all, also after a power cut: it is
// written beside its place, from the start, so that a bad path shows before the work is
// done. A device or a pipe is written to as it is: a file would take its place. So is what
// stdout or stderr goes to, as by /dev/stdout: it may have text already, and more to come.
type outFile struct {
	path  string
	place string // where file goes when it is whole; "" if it is there
	file  *os.File
	std   bool // file is stdout or stderr, which stays open
}

// newOutFile begins a file; an empty path returns nil, which does nothing.
func newOutFile(path string) (*outFile, error) {
	if path == "" {
		return nil, nil
	}
	o := &outFile{path: path}
	if err := o.open(); err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return o, nil
}

func (o *outFile) open() (err error) {
	if info, err := os.Stat(o.path); err == nil {
		if o.file = standard(info); o.file != nil {
			o.std = true
			return nil
		}
		if !info.Mode().IsRegular() {
			o.file, err = os.OpenFile(o.path, os.O_WRONLY, 0)
			return err
		}
	}
	o.place = o.path
	if _, err := os.Lstat(o.path); err == nil { // what a link leads to is written, not the link
		if o.place, err = filepath.EvalSymlinks(o.path); err != nil {
			return err
		}
	}
	return o.openBeside()
}

// openBeside makes the file that will take the place of another one: with the permissions of
// that one, or those that the umask leaves to a new file.
func (o *outFile) openBeside() (err error) {
	for range 100 {
		name := filepath.Join(filepath.Dir(o.place), fmt.Sprintf(".%s-%d", filepath.Base(o.place), rand.Uint32()))
		if o.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	if info, statErr := os.Stat(o.place); statErr == nil {
		err = o.file.Chmod(info.Mode().Perm())
	}
	return err
}

// standard returns stdout or stderr, whichever is a regular file and this one. Opened by its name
// it would be written from its beginning.
func standard(info os.FileInfo) *os.File {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if open, err := f.Stat(); err == nil && info.Mode().IsRegular() && os.SameFile(info, open) {
			return f
		}
	}
	return nil
}

// replaces reports whether there is a file in its place that is not empty.
func (o *outFile) replaces() bool {
	if o.place == "" {
		return false
	}
	info, err := os.Stat(o.place)
	return err == nil && info.Size() > 0
}

// write writes the file and puts it in its place.
func (o *outFile) write(f func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	err := f(o.file)
	if err == nil && o.place != "" {
		err = o.file.Sync()
	}
	err = errors.Join(err, o.close())
	if err == nil && o.place != "" {
		err = renameSynced(o.file.Name(), o.place)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", o.path, err)
	}
	return nil
}

func (o *outFile) close() error {
	if o.std {
		return nil
	}
	return o.file.Close()
}

// renameSynced renames a file, and returns when that is on disk.
func renameSynced(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// drop removes what wasn't put in its place.
func (o *outFile) drop() {
	if o == nil {
		return
	}
	_ = o.close() // closed twice after write
	if o.place != "" {
		_ = os.Remove(o.file.Name()) // gone after write
	}
}

// hostsCSV writes all hosts, one a line.
func hostsCSV(w io.Writer, hosts []replay.HostStats) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"host", "urls", "duplicates", "exact", "unique", "bytes", "duplicate_bytes"}) // the error stays
	for _, h := range hosts {
		row := []string{noFormula(h.Host)}
		for _, n := range []int64{h.URLs, h.Duplicates(), h.Exact, h.Unique, h.Bytes, h.DuplicateBytes} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		_ = c.Write(row)
	}
	c.Flush()
	return c.Error()
}

// noFormula is a text of a CSV file that no spreadsheet takes for a formula: one that begins
// like a formula gets an apostrophe.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
