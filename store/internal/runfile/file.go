package runfile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/hashkey"
)

// Key is the key of a URL: the first 16 bytes of a SHA-256.
type Key = hashkey.UrlShortHash

const keyLen = len(Key{})

// ErrDamaged is the error of a file whose bytes are not those that were written.
var ErrDamaged = errors.New("damaged run file")

// A file, numbers big-endian, is a sequence of runs, each
//
//	n keys of 16 bytes, ascending
//	m+1 entries of the index, each: keys up to the end of a bucket 4 | checksum of
//	    its keys 4; the first is of no bucket, and zero
//
// and then
//
//	foot: "firstrun" 8 | id 16 | length of the runs 8 | 28 zeros | checksum of the foot before it 4
//
// Checksums are CRC-32C. The bucket of a key is the high word of its first eight
// bytes times m.
const (
	magic    = "firstrun"
	entryLen = 8
	footLen  = 64
	perKeys  = 16 // keys in a bucket, on average
)

// MaxKeys is how many keys a run can hold.
const MaxKeys = 1<<32 - 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ID is the name of a file.
type ID [16]byte

// Name returns the name of the file with this id.
func (id ID) Name() string { return hex.EncodeToString(id[:]) + ".run" }

// File is an open file. It is closed when its last user calls Release.
type File struct {
	id    ID
	path  string
	data  []byte
	unmap func()
	users atomic.Int32
	onEnd atomic.Pointer[func()]
}

// Open opens a file, for one user.
func Open(fs vfs.FS, dir string, id ID) (*File, error) {
	path := fs.PathJoin(dir, id.Name())
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open run file: %w", err)
	}
	data, unmap, err := mapFile(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cannot open run file %s: %w", path, err)
	}
	r := &File{id: id, path: path, data: data, unmap: unmap}
	r.users.Store(1)
	if err := r.guarded(r.checkFoot); err != nil {
		unmap()
		return nil, fmt.Errorf("cannot open run file: %w", err)
	}
	return r, nil
}

// readAll is mapFile where files cannot be mapped.
func readAll(f vfs.File, size int64) ([]byte, func(), error) {
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	return data, func() {}, nil
}

func (f *File) checkFoot() error {
	if len(f.data) < footLen {
		return ErrDamaged
	}
	foot := f.data[len(f.data)-footLen:]
	if string(foot[:8]) != magic || ID(foot[8:24]) != f.id ||
		binary.BigEndian.Uint64(foot[24:]) != uint64(len(f.data)-footLen) ||
		binary.BigEndian.Uint32(foot[footLen-4:]) != crc32.Checksum(foot[:footLen-4], castagnoli) {
		return ErrDamaged
	}
	return nil
}

// ID returns the id of the file.
func (f *File) ID() ID { return f.id }

// Bytes returns the size of the file.
func (f *File) Bytes() int64 { return int64(len(f.data)) }

// Use adds a user.
func (f *File) Use() { f.users.Add(1) }

// Release ends a use. The last one unmaps the file, whose runs must not be used
// afterwards, and calls what AtEnd set.
func (f *File) Release() {
	if f.users.Add(-1) > 0 {
		return
	}
	f.unmap()
	if end := f.onEnd.Load(); end != nil {
		(*end)()
	}
}

// AtEnd sets what the last Release calls.
func (f *File) AtEnd(end func()) { f.onEnd.Store(&end) }

// Place is where a run is in its file.
type Place struct {
	Offset  int64
	Keys    int64
	Buckets int64
}

// bytes returns the length of the run.
func (p Place) bytes() int64 { return p.Keys*int64(keyLen) + (p.Buckets+1)*entryLen }

// Run is sorted keys in a file.
type Run struct {
	File  *File
	Place Place
	n     int64
	m     uint64
	keys  []byte
	index []byte
}

// Run returns the run at a place. It does not add a user.
func (f *File) Run(p Place) (*Run, error) {
	size := int64(len(f.data) - footLen)
	if p.Offset < 0 || p.Keys < 0 || p.Keys > MaxKeys || p.Buckets < 1 || p.Buckets > MaxKeys || p.Offset > size || p.bytes() > size-p.Offset {
		return nil, fmt.Errorf("cannot open run file %s; got %d bytes; want a run of %d keys at %d: %w", f.path, len(f.data), p.Keys, p.Offset, ErrDamaged)
	}
	data := f.data[p.Offset:][:p.bytes()]
	r := &Run{File: f, Place: p, n: p.Keys, m: uint64(p.Buckets), keys: data[:p.Keys*int64(keyLen)], index: data[p.Keys*int64(keyLen):]}
	return r, f.guarded(func() error {
		if binary.BigEndian.Uint64(r.index) != 0 {
			return ErrDamaged
		}
		return nil
	})
}

// Len returns the number of keys.
func (r *Run) Len() int64 { return r.n }

// guarded runs f, in which a page of the file that cannot be read is an error, not
// the end of the process. The error names the file.
func (f *File) guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fmt.Errorf("%w: cannot read the page at %#x", ErrDamaged, e.Addr())
		default:
			panic(e)
		}
		if err != nil {
			err = fmt.Errorf("file %s: %w", f.path, err)
		}
	}()
	return do()
}
