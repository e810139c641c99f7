package seenindex

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func testSecret() *[SecretLen]byte {
	var s [SecretLen]byte
	r := rand.New(rand.NewPCG(1, 2))
	for i := range s {
		s[i] = byte(r.Uint32())
	}
	return &s
}

func testKey(n int) Key {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	return Key(sum[:16])
}

// count returns the number of keys.
func count(x *Index) (n int) {
	if x.small != nil {
		return len(x.small)
	}
	for _, t := range x.halves {
		for i := range t.segs {
			n += int(t.segs[i].keys())
		}
	}
	return n
}

// TestIndexIsWhatAMapWouldBe compares with a map under random adds and removes, from small to
// well into the table.
func TestIndexIsWhatAMapWouldBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	x := New(testSecret())
	defer x.Close()
	model := map[Key]bool{}
	for i := range 600_000 {
		k := testKey(rng.IntN(300_000))
		if rng.IntN(4) == 0 {
			if got := x.Has(&k); got != model[k] {
				t.Fatalf("step %d: got has %v before it is removed; want %v", i, got, model[k])
			}
			x.Remove(&k)
			delete(model, k)
			continue
		}
		if got := x.Add(&k); got == model[k] {
			t.Fatalf("step %d: got new %v; want %v", i, got, !model[k])
		}
		model[k] = true
	}
	if x.small != nil || count(x) != len(model) {
		t.Fatalf("got %d keys, small %v; want %d in a table", count(x), x.small != nil, len(model))
	}
	for n := range 300_000 {
		k := testKey(n)
		if x.Has(&k) != model[k] {
			t.Fatalf("key %d: got %v; want %v", n, x.Has(&k), model[k])
		}
	}
}

// TestOneSegment piles keys into one segment, as an attacker who grinds the
// first two bytes of hashes might.
func TestOneSegment(t *testing.T) {
	x := New(testSecret())
	defer x.Close()
	for n := range 200_000 {
		k := testKey(n)
		k[0], k[1] = 3, 4
		if !x.Add(&k) {
			t.Fatalf("key %d isn't new", n)
		}
	}
	for n := range 200_000 {
		k := testKey(n)
		k[0], k[1] = 3, 4
		if !x.Has(&k) {
			t.Fatalf("key %d isn't there", n)
		}
		x.Remove(&k)
	}
	if count(x) != 0 {
		t.Fatalf("got %d keys; want none", count(x))
	}
}

func TestAddSorted(t *testing.T) {
	x := New(testSecret())
	defer x.Close()
	for from := 0; from < 400_000; from += 10_000 {
		keys := make([]Key, 0, 15_000)
		for n := max(0, from-5000); n < from+10_000; n++ {
			keys = append(keys, testKey(n))
		}
		rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		order := make([]uint32, len(keys))
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortFunc(order, func(a, b uint32) int { return slices.Compare(keys[a][:], keys[b][:]) })
		fresh := make([]bool, len(keys))
		x.AddSorted(keys, order, fresh)
		n := 0
		for _, f := range fresh {
			if f {
				n++
			}
		}
		if n != 10_000 {
			t.Fatalf("from %d: got %d new; want 10000", from, n)
		}
	}
}

// TestMemory holds the promised bytes a key while growing.
func TestMemory(t *testing.T) {
	const n = 3_000_000
	rng := rand.New(rand.NewPCG(3, 3))
	x := New(testSecret())
	defer x.Close()
	const most = 13.3 // bytes a key, as doc.go says
	var worst float64
	for i := 1; i <= n; i++ {
		var k Key
		binary.BigEndian.PutUint64(k[:], rng.Uint64())
		binary.BigEndian.PutUint64(k[8:], rng.Uint64())
		x.Add(&k)
		if i >= 1_000_000 && i%10_000 == 0 {
			worst = max(worst, float64(x.Bytes())/float64(i))
		}
	}
	y := New(testSecret())
	defer y.Close()
	y.Reserve(n, &Key{}, &Key{0xff, 0xff})
	t.Logf("worst %.2f bytes a key while growing from 1 to 3 million; %.2f reserved", worst, float64(y.Bytes())/n)
	if worst > most {
		t.Errorf("got %.2f bytes a key while growing; want at most %.2f", worst, most)
	}
}

func TestOdds(t *testing.T) {
	if got := Odds(1e9); got > 1e-6 {
		t.Errorf("got %g URLs lost of a billion; want fewer than 1e-6", got)
	}
	for n, want := range map[float64]string{1e6: "4e-13", 1e8: "4e-09", 1e9: "4e-07", 1e10: "4e-05"} {
		if got := fmt.Sprintf("%.0g", Odds(n)); got != want {
			t.Errorf("%g: got %s; want %s", n, got, want)
		}
	}
}

// TestFewBitsErr shows that the odds are real: with 40 bits of the hash in one segment, a
// number of keys near the birthday bound collides about as often as Odds says of such a width.
func TestFewBitsErr(t *testing.T) {
	const n = 3_000_000
	secret := newSecret(testSecret())
	x := newTable(func(k *Key) uint64 { return max(secret.hash(halves(k))&^(1<<24-1), 1) })
	defer x.mem.close()
	x.reserve(segments*100, 0, segments/2-1)
	lost := 0
	rng := rand.New(rand.NewPCG(0, 5))
	for range n {
		var k Key
		binary.BigEndian.PutUint64(k[:], rng.Uint64()&(1<<48-1))
		binary.BigEndian.PutUint64(k[8:], rng.Uint64())
		if !x.add(&k) {
			lost++
		}
	}
	want := float64(n) * n / 2 / (1 << 40)
	if f := float64(lost); f < want/3 || f > 3*want {
		t.Errorf("got %d of %d lost; want about %.1f", lost, n, want)
	}
}

func BenchmarkAddSorted(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, dup := range []bool{true, false} {
			b.Run(fmt.Sprintf("n=%d/dup=%v", n, dup), func(b *testing.B) { benchSorted(b, n, dup) })
		}
	}
}

func benchSorted(b *testing.B, n int, dup bool) {
	x := New(testSecret())
	defer x.Close()
	rng := rand.New(rand.NewPCG(3, 3))
	random := func() (k Key) {
		binary.BigEndian.PutUint64(k[:], rng.Uint64())
		binary.BigEndian.PutUint64(k[8:], rng.Uint64())
		return k
	}
	known := make([]Key, n)
	for i := range known {
		known[i] = random()
		x.Add(&known[i])
	}
	const size = 10_000
	keys, fresh, order := make([]Key, size), make([]bool, size), make([]uint32, size)
	for i := range order {
		order[i] = uint32(i)
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += size {
		b.StopTimer()
		for i := range keys {
			if keys[i] = random(); dup {
				keys[i] = known[rng.IntN(n)]
			}
		}
		slices.SortFunc(keys, func(a, b Key) int { return slices.Compare(a[:], b[:]) })
		b.StartTimer()
		x.AddSorted(keys, order, fresh)
	}
}
