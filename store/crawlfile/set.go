package crawlfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"sync/atomic"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/osfile"
)

// Set reports which keys are in a file. The file is mapped, so that any number of processes
// share its pages. Opening it reads one page per 64 KiB. A block is checked at the first
// look-up in it. A Set is safe for concurrent use.
type Set struct {
	path   string
	data   []byte
	h      Header
	n      int64
	blocks []setBlock
	sound  []atomic.Bool // blocks that were checked
}

// setBlock is a block: n keys at a place of the file.
type setBlock struct {
	first store.Key
	at    int64
	n     int64
}

// OpenSet opens a key file. For another kind of file the error is [store.ErrFormat], for a
// truncated one [store.ErrCorrupt].
func OpenSet(path string) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open key file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	s := &Set{path: path}
	info, err := f.Stat()
	if err == nil {
		s.data, err = osfile.Contents(f, info.Size())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open key file %s: %w", path, err)
	}
	if err := s.guarded(s.readBlocks); err != nil {
		s.Close()
		return nil, err
	}
	s.sound = make([]atomic.Bool, len(s.blocks))
	return s, nil
}

// Close unmaps the file. The set must not be used afterwards.
func (s *Set) Close() { osfile.Unmap(s.data) }

// Path returns the path with which the file was opened.
func (s *Set) Path() string { return s.path }

// Header returns how the keys were made.
func (s *Set) Header() Header { return s.h }

// Len returns the number of keys.
func (s *Set) Len() int64 { return s.n }

// readBlocks reads where the blocks are.
func (s *Set) readBlocks() error {
	r, err := NewKeyReader(bytes.NewReader(s.data))
	if err != nil {
		return err
	}
	s.h = r.Header()
	head := len(KeysMagic) + 4
	at := int64(head) + int64(binary.BigEndian.Uint32(s.data[len(KeysMagic):])) + 4
	for {
		rest := s.data[min(at, int64(len(s.data))):]
		if len(rest) < 4 {
			return fault.As(store.ErrCorrupt, "cannot read key file; it ends too early")
		}
		b := setBlock{at: at + 4, n: int64(binary.BigEndian.Uint32(rest))}
		size := 4 + b.n*int64(keyLen) + 4
		if b.n == 0 {
			return s.readEnd(rest)
		}
		if b.n > maxBlock || size > int64(len(rest)) {
			return fault.As(store.ErrCorrupt, "cannot read key file; got a block of %d keys in %d bytes", b.n, len(rest))
		}
		b.first = store.Key(rest[4:])
		if n := len(s.blocks); n > 0 && !s.blocks[n-1].first.Less(&b.first) {
			return fault.As(store.ErrCorrupt, "cannot read key file; got keys that do not ascend")
		}
		s.blocks = append(s.blocks, b)
		s.n += b.n
		at += size
	}
}

// readEnd checks the last row.
func (s *Set) readEnd(row []byte) error {
	if len(row) != 16 || !isSealed(row) || binary.BigEndian.Uint64(row[4:]) != uint64(s.n) {
		return fault.As(store.ErrCorrupt, "cannot read key file; its end is not that of %d keys", s.n)
	}
	return nil
}

// Find sets known[i] for each of keys that is in the file, and returns how many are.
func (s *Set) Find(keys []store.Key, known []bool) (n int, err error) {
	err = s.guarded(func() error {
		for i := range keys {
			found, err := s.has(&keys[i])
			if err != nil {
				return err
			}
			if found {
				known[i] = true
				n++
			}
		}
		return nil
	})
	return n, err
}

func (s *Set) has(k *store.Key) (bool, error) {
	i := sort.Search(len(s.blocks), func(i int) bool { return k.Less(&s.blocks[i].first) }) - 1
	for _, j := range []int{i, i + 1} { // a damaged first key of the next block may lead here
		if j >= 0 && j < len(s.blocks) {
			if err := s.check(j); err != nil {
				return false, err
			}
		}
	}
	if i < 0 {
		return false, nil
	}
	b := &s.blocks[i]
	at := sort.Search(int(b.n), func(j int) bool {
		other := store.Key(s.data[b.at+int64(j*keyLen):])
		return !other.Less(k)
	})
	return at < int(b.n) && store.Key(s.data[b.at+int64(at*keyLen):]) == *k, nil
}

// check checks block i, once.
func (s *Set) check(i int) error {
	if s.sound[i].Load() {
		return nil
	}
	b := &s.blocks[i]
	end := b.at + b.n*int64(keyLen)
	if !isSealed(s.data[b.at-4 : end+4]) {
		return fault.As(store.ErrCorrupt, "cannot read key file; the checksum of block %d is wrong", i)
	}
	last := b.first
	for at := b.at + int64(keyLen); at < end; at += int64(keyLen) {
		k := store.Key(s.data[at:])
		if !last.Less(&k) {
			return fault.As(store.ErrCorrupt, "cannot read key file; the keys of block %d do not ascend", i)
		}
		last = k
	}
	if i+1 < len(s.blocks) && !last.Less(&s.blocks[i+1].first) {
		return fault.As(store.ErrCorrupt, "cannot read key file; the keys of block %d do not ascend", i)
	}
	s.sound[i].Store(true)
	return nil
}

// guarded runs do, and turns the fault of an unreadable page of the file into an error, which
// names the file, instead of ending the process.
func (s *Set) guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fault.As(store.ErrCorrupt, "cannot read key file; cannot read the page at %#x", e.Addr())
		default:
			panic(e)
		}
		if err != nil {
			err = fmt.Errorf("file %s: %w", s.path, err)
		}
	}()
	return do()
}
