package flatrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/hashkey"
)

// Key is the key of a URL: the first 16 bytes of a SHA-256.
type Key = hashkey.UrlShortHash

const keyLen = len(Key{})

// ErrDamaged says that a file isn't what was written.
var ErrDamaged = errors.New("damaged run file")

// A file is, numbers big-endian:
//
//	n keys of 16 bytes, ascending
//	m+1 entries of the index, each: keys up to the end of a bucket 4 | checksum of
//	    its keys 4; the first is of no bucket, and zero
//	foot: "firstrun" 8 | id 16 | n 8 | m 8 | 20 zeros | checksum of the foot before it 4
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

// ID tells a run from all others.
type ID [16]byte

// Run is a file of sorted keys.
type Run struct {
	id    ID
	n     int64
	m     uint64
	data  []byte // the file
	keys  []byte
	index []byte
	unmap func()
}

// Open opens the run of a file.
func Open(fs vfs.FS, path string) (*Run, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	data, unmap, err := mapFile(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cannot open run %s: %w", path, err)
	}
	r := &Run{data: data, unmap: unmap}
	if err := guarded(r.readFoot); err != nil {
		r.Close()
		return nil, fmt.Errorf("cannot open run %s; got %d bytes: %w", path, len(data), err)
	}
	return r, nil
}

// readAll is mapFile where files can't be mapped.
func readAll(f vfs.File, size int64) ([]byte, func(), error) {
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	return data, func() {}, nil
}

func (r *Run) readFoot() error {
	if len(r.data) < footLen {
		return ErrDamaged
	}
	foot := r.data[len(r.data)-footLen:]
	n, m := binary.BigEndian.Uint64(foot[24:]), binary.BigEndian.Uint64(foot[32:])
	sum := binary.BigEndian.Uint32(foot[footLen-4:])
	if string(foot[:8]) != magic || crc32.Checksum(foot[:footLen-4], castagnoli) != sum ||
		n > MaxKeys || m == 0 || m > MaxKeys || uint64(len(r.data)) != n*uint64(keyLen)+(m+1)*entryLen+footLen {
		return ErrDamaged
	}
	r.id, r.n, r.m = ID(foot[8:24]), int64(n), m
	r.keys, r.index = r.data[:n*uint64(keyLen)], r.data[n*uint64(keyLen):len(r.data)-footLen]
	if binary.BigEndian.Uint64(r.index) != 0 {
		return ErrDamaged
	}
	return nil
}

// Close gives the memory back. The run must not be used afterwards.
func (r *Run) Close() {
	if r.unmap != nil {
		r.unmap()
	}
	*r = Run{}
}

// ID returns the id that the run was made with.
func (r *Run) ID() ID { return r.id }

// Len returns the number of keys.
func (r *Run) Len() int64 { return r.n }

// Bytes returns the size of the file.
func (r *Run) Bytes() int64 { return int64(len(r.data)) }

// bucketOf returns the bucket of k among m.
func bucketOf(k []byte, m uint64) uint64 {
	b, _ := bits.Mul64(binary.BigEndian.Uint64(k), m)
	return b
}

// guarded runs f, in which a page of a file that can't be read is an error, not
// the end of the process.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fmt.Errorf("%w: cannot read the page at %#x", ErrDamaged, e.Addr())
		default:
			panic(e)
		}
	}()
	return f()
}
