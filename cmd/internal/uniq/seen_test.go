package uniq

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSetBeyondTheMemory: sums that go to the store are answered as those in memory are, each set by itself.
func TestSetBeyondTheMemory(t *testing.T) {
	space := Space{Dir: t.TempDir(), Budget: 1 << 17}
	one, other := space.New("one"), space.New("other")
	h, rng, known := NewHasher(), rand.New(rand.NewPCG(5, 6)), map[uint32]bool{}
	for call := range 30 {
		var sums []Sum
		var want, got []bool
		for range 2000 {
			n := rng.Uint32N(40_000)
			sums = append(sums, h.Sum(binary.LittleEndian.AppendUint32(nil, n)))
			want = append(want, !known[n])
			known[n] = true
		}
		got = make([]bool, len(sums))
		if err := one.Add(t.Context(), sums, got); err != nil || !slices.Equal(got, want) {
			t.Fatalf("call %d: got %v, and other answers than a map", call, err)
		}
		has, hasOther := make([]bool, len(sums)), make([]bool, len(sums))
		if err := one.Has(t.Context(), sums, has); err != nil || slices.Contains(has, false) {
			t.Fatalf("call %d: got %v, and sums that it has not", call, err)
		}
		if err := other.Has(context.Background(), sums, hasOther); err != nil || slices.Contains(hasOther, true) {
			t.Fatalf("call %d: got %v, and sums of another set", call, err)
		}
	}
	if !space.Spilled() || space.Take(1<<20) {
		t.Error("the memory was enough; want it exceeded")
	}
	if err := space.Close(); err != nil {
		t.Error(err)
	}
}

func TestSetIsWhatAMapWouldBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s table
	known := map[Sum]bool{}
	for range 300_000 {
		// Few values of hi, so that many homes are taken and the last slots wrap around.
		x := Sum{rng.Uint64N(1 << 10), rng.Uint64()}
		if rng.IntN(2) == 0 {
			x.Hi = ^x.Hi
		}
		x.Lo = x.Lo >> 57 << 57 // 128 shards
		if x.Hi == 0 {
			continue // stands for 1, see find
		}
		if s.has(x) != known[x] || s.add(x) == known[x] {
			t.Fatalf("%x: the set and the map differ", x)
		}
		known[x] = true
	}
	if s.n != int64(len(known)) {
		t.Errorf("got %d sums; want %d", s.n, len(known))
	}
}

// TestSetIsCompact: memory follows the number of URLs, without a jump.
func TestSetIsCompact(t *testing.T) {
	var s table
	h := NewHasher()
	var p [8]byte
	for i := range uint64(2_000_000) {
		binary.LittleEndian.PutUint64(p[:], i)
		s.add(h.Sum(p[:]))
		if s.n > 500_000 && s.n%100_000 == 0 && s.bytes() > 12*s.n {
			t.Fatalf("%d sums take %d bytes; want at most 12 each", s.n, s.bytes())
		}
	}
	if s.n != 2_000_000 {
		t.Errorf("got %d sums; want all", s.n)
	}
}
