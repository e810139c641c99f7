package runfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncBytes is how much is written between two syncs: all at once would hold up
// the store's log.
const syncBytes = 1 << 20

// Writer writes a file.
type Writer struct {
	File   *File // when it is finished; the writer is its first user
	fs     vfs.FS
	dir    string
	path   string
	id     ID
	f      vfs.File
	out    *bufio.Writer
	err    error // of the first write that failed
	size   int64 // of the runs that are complete
	seed   seed
	m      uint64
	n      int64
	ended  uint64  // buckets that are complete
	bucket []byte  // keys of the bucket being filled
	index  []byte  // entries of the page being filled
	before []int64 // keys before each page
	last   Key
}

// Create begins a file.
func Create(fs vfs.FS, dir string, id ID) (*Writer, error) {
	path := fs.PathJoin(dir, id.Name())
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("cannot make run file: %w", err)
	}
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: syncBytes, NoSyncOnClose: true})
	return &Writer{fs: fs, dir: dir, path: path, id: id, f: f, out: bufio.NewWriterSize(f, 1<<18)}, nil
}

// Begin begins a run of an owner, of about n keys.
func (w *Writer) Begin(owner uint32, n int64) {
	w.m, w.n, w.ended = uint64(max(n, 0))/perKeys+1, 0, 0
	w.seed = seedOf(w.id, owner, w.size, w.m)
	w.before = append(w.before[:0], 0)
}

// Add adds keys, which ascend strictly, also from one call to the next.
func (w *Writer) Add(keys []Key) error {
	for i := range keys {
		k := &keys[i]
		if w.n > 0 && !w.last.Less(k) {
			return fmt.Errorf("cannot write run file %s; got key %x after %x; want ascending ones", w.path, *k, w.last)
		}
		if w.n == MaxKeys {
			return fmt.Errorf("cannot write run file %s; got more than %d keys", w.path, int64(MaxKeys))
		}
		w.endBuckets(bucketOf(k, w.m))
		w.bucket = append(w.bucket, k[:]...)
		w.last = *k
		w.n++
	}
	return w.err
}

// write writes b, unless a write has failed.
func (w *Writer) write(b []byte) {
	if _, err := w.out.Write(b); err != nil && w.err == nil {
		w.err = fmt.Errorf("cannot write run file %s: %w", w.path, err)
	}
}

// endBuckets ends the buckets before the given one.
func (w *Writer) endBuckets(b uint64) {
	for w.ended < b {
		w.appendEntry()
		w.write(w.bucket)
		w.bucket = w.bucket[:0]
		if w.ended++; w.ended%pageBuckets == 0 || w.ended == w.m {
			w.write(w.index)
			w.index = w.index[:0]
			w.before = append(w.before, w.n)
		}
	}
}

// appendEntry appends the entry of the bucket being filled.
func (w *Writer) appendEntry() {
	var f [filterLen]byte
	for b := w.bucket; len(b) > 0; b = b[keyLen:] {
		addToFilter(&f, b)
	}
	at, begin := len(w.index), w.n-int64(len(w.bucket)/keyLen)-w.before[len(w.before)-1]
	w.index = binary.BigEndian.AppendUint32(w.index, uint32(begin))
	w.index = binary.BigEndian.AppendUint32(w.index, w.seed.sum(w.bucket, w.ended))
	w.index = append(w.index, f[:]...)
	w.index = binary.BigEndian.AppendUint32(w.index, w.seed.sum(w.index[at:], w.ended))
}

// End ends the run and returns its place.
func (w *Writer) End() (Place, error) {
	w.endBuckets(w.m)
	p := Place{Offset: w.size, Keys: w.n, Buckets: int64(w.m)}
	w.size += p.bytes()
	if p.tableLen() > 0 {
		var table []byte
		for _, n := range w.before[1:p.pages()] {
			table = binary.BigEndian.AppendUint64(table, uint64(n))
		}
		w.write(binary.BigEndian.AppendUint32(table, w.seed.sum(table, tableBucket)))
	}
	return p, w.err
}

// Finish ends the file, syncs it, and opens it. The directory is the caller's to
// sync.
func (w *Writer) Finish() error {
	foot := append([]byte(magic), w.id[:]...)
	foot = binary.BigEndian.AppendUint64(foot, uint64(w.size))
	foot = append(foot, make([]byte, footLen-4-len(foot))...)
	w.write(binary.BigEndian.AppendUint32(foot, crc32.Checksum(foot, castagnoli)))
	err := w.out.Flush() // which returns the error of an earlier write, too
	if err == nil {
		err = w.f.Sync()
	}
	err = errors.Join(err, w.f.Close())
	w.f = nil
	if err != nil {
		return fmt.Errorf("cannot write run file %s: %w", w.path, err)
	}
	w.File, err = Open(w.fs, w.dir, w.id)
	return err
}

// Close ends the use of the file, and removes it if it is not finished.
func (w *Writer) Close() (err error) {
	if w.File != nil {
		w.File.Release()
		return nil
	}
	if w.f != nil {
		err = w.f.Close()
	}
	return errors.Join(err, w.fs.Remove(w.path))
}
