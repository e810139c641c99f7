package pebblestore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestLogDamage flips bits of the last log of a killed store, cuts it and takes it away, after batches of different
// sizes. Half of the batches are older than a second, and in the note. An Open must refuse the store, or have all keys
// but those that FORMAT.md excepts: of the last groups after a flip, of the last second after a cut. Idle, it has none
// to except.
func TestLogDamage(t *testing.T) {
	for _, size := range []int{20, 300, 2000, 10_000} {
		for _, idle := range []bool{false, true} {
			testLogDamage(t, size, idle)
		}
	}
}

func testLogDamage(t *testing.T, size int, idle bool) {
	t.Helper()
	batches := max(tortureSize(4, 8), min(tortureSize(20, 60), 30_000/size))
	mem := vfs.NewCrashableMem()
	opt := Options{FS: mem}
	s := mustOpen(t, "db", opt)
	var ends []int64 // of the log, after each batch
	log := func() string { return mem.PathJoin("db", logName(s.note.newest.Load())) }
	for b := range batches {
		var items []store.Item
		for i := b * size; i < (b+1)*size; i++ {
			items = append(items, store.Item{Key: testKey(i), Queue: fmt.Sprint("q", i%50), URL: fmt.Sprintf("http://example.org/%d/a/path/of/usual/length", i)})
		}
		if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
			t.Fatal(err)
		}
		info, err := mem.Stat(log())
		if err != nil {
			t.Fatal(err)
		}
		if b > 0 && info.Size() < ends[b-1] { // another log
			clear(ends)
		}
		if ends = append(ends, info.Size()); b == batches/2-1 || idle {
			if err := s.note.write(); err != nil {
				t.Fatal(err)
			}
		}
	}
	name := log()
	killed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRand(1)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := readFile(killed, name)
	if err != nil {
		t.Fatal(err)
	}
	last := batches - 1 // without others in flight
	var refused, harmless, excepted int
	var mostFlipped, mostCut int64 // bytes of the log
	try := func(what string, from int, text []byte) {
		t.Helper()
		disk := vfs.NewMem()
		_, err := vfs.Clone(killed, disk, "db", "db")
		if text == nil {
			err = errors.Join(err, disk.Remove(name))
		} else if f, errCreate := disk.Create(name, vfs.WriteCategoryUnspecified); errCreate == nil {
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		opt := opt.on(disk)
		s, err := openPrepared("db", opt)
		if err != nil {
			if refused++; !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("batches of %d, %s: got %v; want ErrCorrupt", size, what, err)
			}
			return
		}
		defer s.Close()
		known := make([]bool, batches*size)
		if err := s.Known(t.Context(), "", testKeys(0, len(known)), known); err != nil {
			t.Fatal(err)
		}
		lost := 0
		for i, k := range known {
			if k {
				continue
			}
			if lost++; idle || i/size < from {
				t.Fatalf("batches of %d, idle %v, %s: key %d of batch %d of %d is lost silently", size, idle, what, i, i/size, batches)
			}
			most := &mostFlipped
			if from == batches/2 {
				most = &mostCut
			}
			*most = max(*most, ends[last]-ends[max(0, i/size-1)])
		}
		if lost > 0 {
			excepted++
		} else {
			harmless++
		}
	}
	tries := tortureCount(t, 3, 200) // a flip takes long: Pebble looks for the bit by a checksum for each that it may be
	for i := range tries {
		at := len(text) * (2*i + 1) / (2 * tries)
		flipped := append([]byte(nil), text...)
		flipped[at] ^= 1 << (i % 8)
		try(fmt.Sprintf("bit of byte %d of %d flipped", at, len(text)), last, flipped)
		try(fmt.Sprintf("cut to %d of %d", at, len(text)), batches/2, text[:at])
		if block := 4096; at > 2*block {
			moved := append([]byte(nil), text...)
			to := at/block*block - block
			copy(moved[to:], text[:block])
			from := last
			for from > 0 && int64(to+block) > ends[last-1] && ends[from-1] > int64(to) { // nothing after it is whole
				from--
			}
			try(fmt.Sprintf("block before %d is another", at), from, moved)
		}
	}
	for _, end := range ends[:last] {
		try(fmt.Sprintf("cut to %d, the end of a batch", end), batches/2, text[:end])
	}
	try("empty", batches/2, []byte{})
	try("missing", batches, nil)
	t.Logf("batches of %d URLs, idle %v: refused %d, harmless %d, excepted %d, at most the last %d bytes of a damaged log and %d of one that was cut", size, idle, refused, harmless, excepted, mostFlipped, mostCut)
}
