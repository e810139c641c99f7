package hashkey

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

func TestHashesSortAsTheirHex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	hashes := make([]UrlHash, 200)
	for i := range hashes {
		for j := range hashes[i] {
			hashes[i][j] = byte(rng.UintN(3)) // few values, so that long common prefixes occur
		}
	}
	slices.SortFunc(hashes, UrlHash.Compare)
	if !sort.SliceIsSorted(hashes, func(i, j int) bool { return hashes[i].Hex() < hashes[j].Hex() }) {
		t.Error("got hashes in another order than their hexadecimal forms")
	}
	for i := 1; i < len(hashes); i++ {
		a, b := hashes[i-1], hashes[i]
		if a.Short().Compare(b.Short()) > 0 || a.VeryShort().Compare(b.VeryShort()) > 0 {
			t.Errorf("got %v before %v; want prefixes in the order of the whole", a, b)
		}
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	url := "https://example.com/a/long/enough/path/that/no/small/buffer/can/hold?and=a&query=too"
	buf := make([]byte, 0, 256)
	hash := SumString(url)
	for name, f := range map[string]func(){
		"SumString":       func() { hash = SumString(url) },
		"SumShortString":  func() { _ = SumShortString(url) },
		"SumShort":        func() { _ = SumShort(buf[:100]) },
		"UrlHashCrate":    func() { hash = UrlHashCrate(buf[:100]) },
		"AppendText":      func() { _, _ = hash.AppendText(buf) },
		"AppendBinary":    func() { _, _ = hash.AppendBinary(buf) },
		"Compare":         func() { _ = hash.Short().Compare(hash.Short()) },
		"UnmarshalBinary": func() { _ = hash.UnmarshalBinary(buf[:32]) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: got %v allocations; want none", name, n)
		}
	}
}

func BenchmarkSumShort(b *testing.B) {
	url := []byte("https://www.example.com/some/path/of/usual/length?with=query")
	b.ReportAllocs()
	for b.Loop() {
		SumShort(url)
	}
}
