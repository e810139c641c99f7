package flatrun

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Writer writes a run.
type Writer struct {
	fs     vfs.FS
	path   string
	id     ID
	f      vfs.File
	out    *bufio.Writer
	m      uint64
	n      int64
	bucket []byte // keys of the bucket being filled
	index  []byte
	last   Key
}

// Create begins a run of about n keys. What was at the path is gone.
func Create(fs vfs.FS, path string, id ID, n int64) (*Writer, error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("cannot make run %s: %w", path, err)
	}
	// Written to the disk as it grows: all at once would hold up the store's log.
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: 4 << 20, NoSyncOnClose: true})
	m := uint64(max(n, 0))/perKeys + 1
	return &Writer{
		fs: fs, path: path, id: id, f: f, m: m,
		out:   bufio.NewWriterSize(f, 1<<20),
		index: make([]byte, entryLen, (m+1)*entryLen),
	}, nil
}

// Add adds keys, which ascend strictly, also from one call to the next.
func (w *Writer) Add(keys []Key) error {
	for i := range keys {
		k := &keys[i]
		if w.n > 0 && bytes.Compare(w.last[:], k[:]) >= 0 {
			return fmt.Errorf("cannot write run %s; got key %x after %x; want ascending ones", w.path, *k, w.last)
		}
		if w.n == MaxKeys {
			return fmt.Errorf("cannot write run %s; got more than %d keys", w.path, int64(MaxKeys))
		}
		if err := w.endBuckets(bucketOf(k[:], w.m)); err != nil {
			return err
		}
		w.bucket = append(w.bucket, k[:]...)
		w.last = *k
		w.n++
	}
	return nil
}

// endBuckets ends the buckets before the given one.
func (w *Writer) endBuckets(b uint64) error {
	for uint64(len(w.index)/entryLen-1) < b {
		w.index = binary.BigEndian.AppendUint32(w.index, uint32(w.n))
		w.index = binary.BigEndian.AppendUint32(w.index, crc32.Checksum(w.bucket, castagnoli))
		_, err := w.out.Write(w.bucket)
		w.bucket = w.bucket[:0]
		if err != nil {
			return fmt.Errorf("cannot write run %s: %w", w.path, err)
		}
	}
	return nil
}

// Finish ends the file, not yet synced, and opens it.
func (w *Writer) Finish() (*Run, error) {
	if err := w.endBuckets(w.m); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	foot := append([]byte(magic), w.id[:]...)
	foot = binary.BigEndian.AppendUint64(foot, uint64(w.n))
	foot = binary.BigEndian.AppendUint64(foot, w.m)
	foot = append(foot, make([]byte, footLen-4-len(foot))...)
	foot = binary.BigEndian.AppendUint32(foot, crc32.Checksum(foot, castagnoli))
	_, err := w.out.Write(w.index)
	if err == nil {
		_, err = w.out.Write(foot)
	}
	if err = errors.Join(err, w.out.Flush()); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write run %s: %w", w.path, err), w.Abort())
	}
	err = w.f.Close()
	w.f = nil
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write run %s: %w", w.path, err), w.Abort())
	}
	return Open(w.fs, w.path)
}

// Abort gives up the run and removes the file.
func (w *Writer) Abort() error {
	var err error
	if w.f != nil {
		err = w.f.Close()
	}
	return errors.Join(err, w.fs.Remove(w.path))
}
