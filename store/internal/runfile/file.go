package runfile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/osfile"
)

// Key is the key of a URL: the first 16 bytes of a SHA-256.
type Key = hashkey.UrlShortHash

const keyLen = len(Key{})

// ErrDamaged is the error of a file whose bytes are not those that were written. It is a store.ErrCorrupt.
var ErrDamaged = fault.As(store.ErrCorrupt, "damaged run file; the disk returned other bytes than were written: "+
	"check it, then restore a copy of the directory or import an export")

// The package comment has the layout of a file.
const (
	magic       = "runfile4"
	magic3      = "firstrun" // of format 3
	footLen     = 64
	pageBuckets = 1 << 12
	perKeys     = 20 // keys in a bucket, on average
	filterLen   = 20
	entryLen    = 4 + 4 + filterLen + 4
)

// MaxKeys is how many keys a run can hold.
const MaxKeys = 1<<32 - 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ID is the name of a file.
type ID [16]byte

// Name returns the name of the file with this id.
func (id ID) Name() string { return hex.EncodeToString(id[:]) + ".run" }

// ParseName returns the id of the file with a name.
func ParseName(name string) (id ID, err error) {
	b, err := hex.DecodeString(strings.TrimSuffix(name, ".run"))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q names no run file: %w", name, store.ErrCorrupt)
	}
	return ID(b), nil
}

// File is an open file. It is closed when its last user calls Release.
type File struct {
	id     ID
	path   string
	data   []byte
	old    bool  // of format 3, whose checksums do not cover where something is
	damage error // of what is needed no more than to open the file
	users  atomic.Int32
	onEnd  func()
}

// Open opens a file, for one user.
func Open(fs vfs.FS, dir string, id ID) (*File, error) {
	path := fs.PathJoin(dir, id.Name())
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open run file: %w", err)
	}
	var data []byte
	info, err := f.Stat()
	if err == nil {
		data, err = osfile.Contents(f, info.Size())
		osfile.Advise(data, osfile.Random) // reading neighbours of a page costs time and evicts pages that are used
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cannot open run file %s: %w", path, err)
	}
	r := &File{id: id, path: path, data: data}
	r.users.Store(1)
	if err := r.guarded(r.checkFoot); err != nil {
		osfile.Unmap(data)
		return nil, fmt.Errorf("cannot open run file: %w", err)
	}
	return r, nil
}

// checkFoot refuses another file in the place of this one, and one that was cut. A damaged foot is no reason:
// runs have checksums that cover the id of the file.
func (f *File) checkFoot() {
	check(len(f.data) >= footLen)
	foot := f.data[len(f.data)-footLen:]
	if binary.BigEndian.Uint32(foot[footLen-4:]) != crc32.Checksum(foot[:footLen-4], castagnoli) {
		f.damage = fmt.Errorf("file %s: its end: %w", f.path, ErrDamaged)
		return
	}
	f.old = string(foot[:8]) == magic3
	check((f.old || string(foot[:8]) == magic) && ID(foot[8:24]) == f.id &&
		binary.BigEndian.Uint64(foot[24:]) == uint64(len(f.data)-footLen))
}

// Damage returns the damage that was found when the file and its runs were opened, and does no harm.
func (f *File) Damage() error { return f.damage }

// Path returns where the file is.
func (f *File) Path() string { return f.path }

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
	osfile.Unmap(f.data)
	if f.onEnd != nil {
		f.onEnd()
	}
}

// AtEnd sets what the last Release calls. The first user calls it, before there are others.
func (f *File) AtEnd(end func()) { f.onEnd = end }

// Place is where a run is in its file.
type Place struct {
	Offset  int64
	Keys    int64
	Buckets int64
}

func (p Place) pages() int64 { return (p.Buckets + pageBuckets - 1) / pageBuckets }

func (p Place) tableLen() int64 {
	if p.pages() == 1 {
		return 0
	}
	return 8*(p.pages()-1) + 4
}

func (p Place) bytes() int64 {
	return p.Keys*int64(keyLen) + p.Buckets*entryLen + p.tableLen()
}

// Run is sorted keys in a file.
type Run struct {
	File   *File
	Place  Place
	data   []byte  // pages and table
	before []int64 // keys before each page, and in all
	seed   seed
}

// seed is what checksums begin with: it stands for the file, the owner, the place and the number of buckets of a
// run. Bytes of another run, or of another bucket, have another checksum: CRCs of equal bytes differ if their
// seeds do.
type seed struct {
	base uint32
	step uint32 // 0 in files of format 3
}

func seedOf(id ID, owner uint32, offset int64, buckets uint64) seed {
	b := binary.BigEndian.AppendUint32(id[:len(id):len(id)], owner)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(offset)), buckets)
	return seed{crc32.Checksum(b, castagnoli), 0x9e3779b1}
}

// sum returns the checksum of what belongs to a bucket.
func (s seed) sum(b []byte, bucket uint64) uint32 {
	return crc32.Update(s.base+uint32(bucket)*s.step, castagnoli, b)
}

// tableBucket stands for the table of pages in the place of a bucket.
const tableBucket = MaxKeys

// Run returns the run of an owner at a place. It does not add a user.
func (f *File) Run(owner uint32, p Place) (*Run, error) {
	size := int64(len(f.data) - footLen)
	if p.Offset < 0 || p.Keys < 0 || p.Keys > MaxKeys || p.Buckets < 1 || p.Buckets > MaxKeys || p.Offset > size || p.bytes() > size-p.Offset {
		return nil, fmt.Errorf("cannot open run file %s; got %d bytes; want a run of %d keys at %d: %w", f.path, len(f.data), p.Keys, p.Offset, ErrDamaged)
	}
	r := &Run{File: f, Place: p, data: f.data[p.Offset:][:p.bytes()], seed: seedOf(f.id, owner, p.Offset, uint64(p.Buckets))}
	if f.old {
		r.seed = seed{}
	}
	return r, f.guarded(r.readPages)
}

func (r *Run) readPages() {
	r.before = make([]int64, 1, r.Place.pages()+1)
	if n := r.Place.tableLen(); n > 0 {
		t := r.data[int64(len(r.data))-n:]
		t, sum := t[:n-4], t[n-4:]
		whole := r.seed.sum(t, tableBucket) == binary.BigEndian.Uint32(sum)
		for ; whole && len(t) > 0; t = t[8:] {
			r.before = append(r.before, int64(binary.BigEndian.Uint64(t)))
		}
		if !whole {
			r.findPages()
			r.File.damage = fmt.Errorf("file %s: the table of pages of a run: %w", r.File.path, ErrDamaged)
		}
	}
	r.before = append(r.before, r.Place.Keys)
	check(slices.IsSorted(r.before))
}

// findPages finds where the entries of each page are, without the table that says so: some of them must be as
// they were written there. Keys are evenly distributed, so the place is near where it would be with as many keys in
// each page.
func (r *Run) findPages() {
	check(!r.File.old)
	for p := range r.Place.pages() - 1 {
		lo := r.before[p]*int64(keyLen) + p*pageBuckets*entryLen
		fits := func(n int64) bool {
			at, whole := lo+n*int64(keyLen), 0
			if n < 0 || at+pageBuckets*entryLen > int64(len(r.data)) {
				return false
			}
			for b := int64(0); b < pageBuckets && whole < 2; b += pageBuckets / 8 {
				e := r.data[at+b*entryLen:][:entryLen]
				if r.seed.sum(e[:entryLen-4], uint64(p*pageBuckets+b)) == binary.BigEndian.Uint32(e[entryLen-4:]) {
					whole++
				}
			}
			return whole == 2
		}
		expected := r.Place.Keys*(p+1)*pageBuckets/r.Place.Buckets - r.before[p]
		off := int64(0)
		for ; off < 1<<16 && !fits(expected+off); off = nextOff(off) {
		}
		check(off < 1<<16)
		r.before = append(r.before, r.before[p]+expected+off)
	}
}

// nextOff returns the next of 0, 1, -1, 2, -2 …
func nextOff(off int64) int64 {
	if off > 0 {
		return -off
	}
	return 1 - off
}

// Len returns the number of keys.
func (r *Run) Len() int64 { return r.Place.Keys }

// check ends what guarded runs, unless ok.
func check(ok bool) {
	if !ok {
		panic(ErrDamaged)
	}
}

// guarded runs do, in which a failed check, and a page of the file that cannot be read, is an error,
// not the end of the process. The error names the file.
func (f *File) guarded(do func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fmt.Errorf("%w: cannot read the page at %#x", ErrDamaged, e.Addr())
		default:
			if e != any(ErrDamaged) {
				panic(e)
			}
			err = ErrDamaged
		}
		if err != nil {
			err = fmt.Errorf("file %s: %w", f.path, err)
		}
	}()
	do()
	return nil
}
