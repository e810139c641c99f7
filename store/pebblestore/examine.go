package pebblestore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// Open decides by reading alone what a directory is. Only names that a store has count: files of
// others beside them are left alone.
//
//	no such name                            nothing: a store can be made here
//	a note that says "creating"             the making of a store was interrupted, and goes on
//	a note, and all that it names           a whole store
//	no note, and Pebble's own files         a store of format 3 or earlier, or a database of another program
//	anything else                           damage: ErrCorrupt, which names what is missing

var (
	// storeNames are the files of a store that decide.
	storeNames = regexp.MustCompile(`^(marker\.(manifest|format-version)\.[0-9]+\..+|(MANIFEST|OPTIONS)-[0-9]+|[0-9]{6,}\.(log|sst|blob)|CURRENT)$`)
	runName    = regexp.MustCompile(`^[0-9a-f]{32}\.run$`)
)

// contents are what a directory has.
type contents struct {
	fs       vfs.FS
	dir      string
	names    []string // of a store, without the note
	runs     []string // in runs
	manifest string   // that the marker names, "" without one
	format   bool     // there is a marker of Pebble's format
}

func isMissing(err error) bool { return errors.Is(err, os.ErrNotExist) }

// list lists what a store has in a directory. There may be no directory.
func list(fs vfs.FS, dir string) (c *contents, err error) {
	c = &contents{fs: fs, dir: dir}
	all, err := fs.List(dir)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	for _, name := range all {
		if storeNames.MatchString(name) {
			c.names = append(c.names, name)
			c.format = c.format || strings.HasPrefix(name, "marker.format-version.")
		}
	}
	if slices.ContainsFunc(all, func(name string) bool { return strings.HasPrefix(name, "marker.manifest.") }) {
		if c.manifest, err = atomicfs.ReadMarker(fs, dir, "manifest"); err != nil {
			return nil, err
		}
	}
	runs := fs.PathJoin(dir, "runs")
	if info, err := fs.Stat(runs); err == nil && info.IsDir() {
		if all, err = fs.List(runs); err != nil {
			return nil, err
		}
		c.runs = slices.DeleteFunc(all, func(name string) bool { return !runName.MatchString(name) })
	}
	slices.Sort(c.names)
	return c, nil
}

func (c *contents) has(name string) bool { return slices.Contains(c.names, name) }

// tables reports whether there is anything that holds rows or keys, other than logs.
func (c *contents) tables() bool {
	return len(c.runs) > 0 || slices.ContainsFunc(c.names, func(name string) bool {
		return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
	})
}

// missing returns an error that names what a store needs and the directory lacks.
func (c *contents) missing(what ...string) error {
	return fmt.Errorf("%w: the directory has files of a store and lacks %s; nothing was changed: "+
		"put back what is missing, restore a copy of the directory, or import an export", store.ErrCorrupt, strings.Join(what, " and "))
}

// lacks returns what Pebble needs to find its tables.
func (c *contents) lacks() (what []string) {
	if c.manifest == "" {
		what = append(what, "marker.manifest.* (an empty file)")
	} else if !c.has(c.manifest) {
		what = append(what, c.manifest)
	}
	if !c.format {
		what = append(what, "marker.format-version.* (an empty file)")
	}
	return what
}

// examine returns the note of the store in a directory, nil if there is nothing. The note of a store that has
// none is its format alone. It changes nothing.
func examine(dir string, opt *Options) (*note, error) {
	c, err := list(opt.FS, dir)
	if err != nil {
		return nil, err
	}
	n, err := readNote(opt.FS, dir)
	switch {
	case err != nil:
		return nil, err
	case n == nil && len(c.names) == 0 && len(c.runs) == 0:
		return nil, nil
	case n == nil:
		return c.unnoted(opt)
	case n.creating && (c.manifest != "" || !c.tables()), n.format > opt.format:
		return n, nil
	}
	if what := c.lacks(); len(what) > 0 {
		return nil, c.missing(what...)
	}
	if foreignFormat(dir, opt.FS) { // which Pebble refuses
		return n, nil
	}
	return n, c.check(n)
}

// unnoted judges files of a store without a note.
func (c *contents) unnoted(opt *Options) (*note, error) {
	if c.has("CURRENT") {
		return nil, fault.As(store.ErrFormat, "the directory has a database of another program")
	}
	what := c.lacks()
	if c.manifest == "" || !c.has(c.manifest) {
		return nil, c.missing(append(what, noteName)...)
	}
	look := *opt
	look.Mode = OpenReadOnly
	db, err := openPebble(c.dir, look, newHealth(), nil)
	if err != nil {
		return nil, err
	}
	format, err := formatOf(db)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if format == 0 || format > unnotedFormat {
		return nil, fmt.Errorf("%w: %w", c.missing(append(what, noteName)...), errNote)
	}
	return &note{format: format}, nil
}

// unnotedFormat is the last format without a note.
const unnotedFormat = 3

// errNote says what helps if nothing but the note is wrong.
var errNote = fault.As(store.ErrCorrupt, "or open the store with OpenRepair (firstseen verify --repair), which makes the file again")

// otherNames are the other files that this package makes, for a while or for people to look at.
var otherNames = regexp.MustCompile(`^(LOCK|repair\.tmp|damaged-[0-9]+\.log|[0-9]+\.dbtmp|temporary\..+)$`)

// IsFile reports whether a path in the directory of a store is that of a file which stores have.
func IsFile(path string) bool {
	if run, ok := strings.CutPrefix(path, "runs/"); ok {
		return runName.MatchString(run)
	}
	return storeNames.MatchString(path) || otherNames.MatchString(path) || path == noteName || path == noteTemp || path == "probe"
}

// Remove removes a directory that was to become a store, with the files that stores have, and others whose paths in
// it are given. If it has anything else, it stays as it is, and the error names that. There may be no directory.
func Remove(dir string, besides ...string) error { return removeStore(vfs.Default, dir, besides...) }

func removeStore(fs vfs.FS, dir string, besides ...string) error {
	info, err := fs.Stat(dir)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if foreign, err := foreignIn(fs, dir, "", info, besides); err != nil || foreign != "" {
		return cmp.Or(err, fault.As(store.ErrInvalid, "cannot remove %s: firstseen did not make %s; move it away", dir, foreign))
	}
	return fs.RemoveAll(dir)
}

// foreignIn returns the path of something in a directory that no store has, "" if there is nothing.
func foreignIn(fs vfs.FS, dir, below string, info vfs.FileInfo, besides []string) (string, error) {
	if !info.IsDir() {
		return dir, nil
	}
	names, err := fs.List(dir)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		switch {
		case isMissing(err):
			return path, nil // a link to nothing
		case err != nil:
			return "", err
		case info.IsDir() && below == "" && (name == "runs" || slices.ContainsFunc(besides, func(b string) bool { return fs.PathDir(b) == name })):
			if foreign, err := foreignIn(fs, path, name, info, besides); err != nil || foreign != "" {
				return foreign, err
			}
		case info.IsDir():
			return path, nil
		case !IsFile(fs.PathJoin(below, name)) && !slices.Contains(besides, fs.PathJoin(below, name)):
			return path, nil
		}
	}
	return "", nil
}

// noteOf makes the note of a directory that has none of its own, by what is there.
func noteOf(c *contents, format uint32) (*note, error) {
	if what := c.lacks(); len(what) > 0 {
		return nil, c.missing(what...)
	}
	n := &note{format: format}
	m, err := readManifest(c.fs, c.dir, c.manifest)
	if err != nil {
		return nil, err
	}
	n.manifest = m.manifestNote
	for _, name := range c.names {
		num := logNumber(name)
		if num == 0 || num < m.minLog {
			continue
		}
		s, err := scanLog(c.fs, c.dir, num)
		if err != nil {
			return nil, err
		}
		n.logs = append(n.logs, logNote{num, max(s.first, n.acked+1)})
		n.acked = max(n.acked, s.last)
	}
	return n, nil
}

// manifest is what is read of a manifest.
type manifest struct {
	manifestNote        // all of it that is whole
	minLog       uint64 // the first log that is needed
	text         []byte
}

// Tags of the fields that come first in an edit of a manifest.
const (
	tagComparer = 1
	tagMinLog   = 2
)

// readManifest reads a manifest up to its end, or to what is not as it was written.
func readManifest(fs vfs.FS, dir, name string) (m manifest, err error) {
	if _, err := fmt.Sscanf(name, "MANIFEST-%d", &m.num); err != nil {
		return m, fmt.Errorf("the marker names no manifest, but %q: %w", name, store.ErrCorrupt)
	}
	if m.text, err = readFile(fs, fs.PathJoin(dir, name)); err != nil {
		return m, err
	}
	r := record.NewReader(bytes.NewReader(m.text), 0)
	for {
		next, err := r.Next()
		if err != nil {
			break // as Pebble does
		}
		edit, err := io.ReadAll(next)
		if err != nil {
			break
		}
		m.length = r.Offset()
		tag, k := binary.Uvarint(edit)
		if tag == tagComparer && k > 0 {
			length, k2 := binary.Uvarint(edit[k:])
			edit = edit[min(uint64(len(edit)), uint64(k+max(0, k2))+min(length, uint64(len(edit)))):]
			tag, k = binary.Uvarint(edit)
		}
		if tag == tagMinLog && k > 0 {
			m.minLog, _ = binary.Uvarint(edit[k:])
		}
	}
	m.sum = crc32.Checksum(m.text[:m.length], castagnoli)
	return m, nil
}

// check compares what is there with the note.
func (c *contents) check(n *note) error {
	m, err := readManifest(c.fs, c.dir, c.manifest)
	if err != nil {
		return err
	}
	switch was := &n.manifest; {
	case m.num < was.num:
		return c.missing(fmt.Sprintf("MANIFEST-%06d, which was in use: the marker names an older one", was.num))
	case m.num > was.num: // begun since the note was written
	case m.length < was.length || crc32.Checksum(m.text[:was.length], castagnoli) != was.sum:
		return fmt.Errorf("%w: %s is damaged or an older copy: %d of its bytes are whole, and %d were synced; nothing was changed: "+
			"restore a copy of the directory or import an export", store.ErrCorrupt, c.fs.PathJoin(c.dir, c.manifest), m.length, was.length)
	}
	for _, r := range n.runs {
		if err := c.checkRun(r); err != nil {
			return err
		}
	}
	d, err := c.checkLogs(n, m.minLog)
	if err == nil && d != nil {
		err = fault.As(store.ErrCorrupt, "%w", d)
	}
	return err
}

// checkRun looks whether a run file is there, and is that file.
func (c *contents) checkRun(r runNote) error {
	if !slices.Contains(c.runs, r.name) {
		return c.missing(c.fs.PathJoin("runs", r.name))
	}
	id, err := runfile.ParseName(r.name)
	if err != nil {
		return err
	}
	f, err := runfile.Open(c.fs, c.fs.PathJoin(c.dir, "runs"), id)
	if err != nil {
		return err
	}
	defer f.Release()
	if f.Bytes() != r.bytes {
		return fmt.Errorf("file %s has %d bytes, and had %d: %w", f.Path(), f.Bytes(), r.bytes, runfile.ErrDamaged)
	}
	return nil
}
