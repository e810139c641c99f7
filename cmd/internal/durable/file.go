// Package durable writes files that are there whole or not at all, also after a power cut, and JSON in which a change
// of a few bytes is noticed; and backups of a store, each a directory of such files.
package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/firstseen/firstseen/store"
)

// A File is there whole or not at all: it is written beside its place, from the start, so that a bad path shows before the
// work is done; then synced, renamed, and its directory synced. A library such as renameio leaves out the last step, and
// would put a file in the place of a device.
//
// A device or a pipe is written to as it is. So is what stdout or stderr goes to, as by /dev/stdout: it may have text
// already, and more to come.
type File struct {
	path  string
	place string // where file goes when it is whole; "" if it is there
	file  *os.File
	std   bool // file is stdout or stderr, which stays open
}

// Create begins a file; for an empty path it returns nil, whose methods do nothing.
func Create(path string) (*File, error) {
	if path == "" {
		return nil, nil
	}
	o := &File{path: path}
	if err := o.open(); err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return o, nil
}

// WriteFile writes a text to a file in one step.
func WriteFile(path string, text []byte) error {
	o, err := Create(path)
	if err != nil {
		return err
	}
	defer o.Drop()
	return o.Write(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (o *File) open() (err error) {
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
func (o *File) openBeside() (err error) {
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

// Replaces reports whether there is a file in its place that is not empty.
func (o *File) Replaces() bool {
	if o.place == "" {
		return false
	}
	info, err := os.Stat(o.place)
	return err == nil && info.Size() > 0
}

// Write has f write the file, and puts it in its place.
func (o *File) Write(f func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	err := f(o.file)
	if err == nil && o.place != "" {
		err = o.file.Sync()
	}
	err = errors.Join(err, o.close())
	if err == nil && o.place != "" {
		err = Rename(o.file.Name(), o.place)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", o.path, err)
	}
	return nil
}

func (o *File) close() error {
	if o.std {
		return nil
	}
	return o.file.Close()
}

// Rename renames a file or directory, and returns when that is on disk.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(filepath.Clean(to)))
}

// ErrNotEmpty says that Build would replace something.
var ErrNotEmpty = errors.New("it is not empty; move it away first")

// Build makes a directory in a place that is free or an empty directory: make fills one beside it, which takes the place when it is
// whole. It removes what an attempt that was ended has left.
func Build(to string, make func(tmp string) error) error {
	names, err := os.ReadDir(to)
	there := !errors.Is(err, fs.ErrNotExist)
	if there && err != nil {
		return err
	}
	if len(names) > 0 {
		return ErrNotEmpty
	}
	tmp := filepath.Clean(to) + partial
	if err := remove(tmp); err != nil {
		return err
	}
	if err := make(tmp); err != nil {
		return errors.Join(err, remove(tmp))
	}
	if there {
		if err := os.Remove(to); err != nil {
			return err
		}
	}
	return Rename(tmp, to)
}

// SyncDir returns when the names in a directory are on disk.
func SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// copyFile copies a file to a new one, and returns its size.
func copyFile(from, to string) (n int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return writeNew(to, in)
}

// writeNew writes a file of a directory that gets its name when all of it is there, so a crash may leave a part of the file.
// The caller syncs the directory.
func writeNew(path string, text io.Reader) (n int64, err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, text)
	return n, errors.Join(err, out.Sync(), out.Close())
}

// Drop removes what wasn't put in its place.
func (o *File) Drop() {
	if o == nil {
		return
	}
	_ = o.close() // closed twice after write
	if o.place != "" {
		_ = os.Remove(o.file.Name()) // gone after write
	}
}

// sealed is what is written: the checksum is of the bytes of the content.
type sealed struct {
	CRC32C  string          `json:"crc32c"`
	Content json.RawMessage `json:"content"`
}

func sum(content []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

// Marshal returns v as JSON with a checksum.
func Marshal(v any) ([]byte, error) {
	content, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{sum(content), content})
}

// Unmarshal reads what Marshal returned into v. It also reads JSON without a checksum, as earlier versions wrote it.
// The error is store.ErrCorrupt if the checksum is another.
func Unmarshal(text []byte, v any) error {
	var s sealed
	if json.Unmarshal(text, &s) != nil || s.CRC32C == "" && s.Content == nil {
		if err := json.Unmarshal(text, v); err != nil {
			return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		return nil
	}
	if have := sum(s.Content); have != s.CRC32C {
		return fmt.Errorf("%w: its checksum is %s, and that of its content %s", store.ErrCorrupt, s.CRC32C, have)
	}
	return json.Unmarshal(s.Content, v)
}
