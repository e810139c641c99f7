package hasheduri

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLookupDoesNotAllocate is about a digest's look-up. (The canonical form before it takes
// what hashedform.Append takes.)
func TestLookupDoesNotAllocate(t *testing.T) {
	d := newDigests(randomDigests(10_000), 20)
	digest := make([]byte, 0, 20)
	if n := testing.AllocsPerRun(200, func() {
		digest, _ = Algorithms{}.appendDigest(digest[:0], "sha1", d.at(7))
		d.has(digest)
		digest, _ = Algorithms{}.appendDigest(digest[:0], "md5", d.at(7))
	}); n != 0 {
		t.Errorf("got %v allocations; want none", n)
	}
}

// BenchmarkListMatch looks up URLs that are not in a list of sha1 entries, 10 million unless
// FIRSTSEEN_BENCH_ENTRIES says otherwise, and reports memory and the time to make it.
func BenchmarkListMatch(b *testing.B) {
	entries := 10_000_000
	if s := os.Getenv("FIRSTSEEN_BENCH_ENTRIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		entries = n
	}
	l, err := ReadList(strings.NewReader(""), Hasher{Variant: N})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	l.groups = []group{{form{algorithm: "sha1"}, newDigests(randomDigests(entries), 20)}}
	made := time.Since(start)
	urls := make([]string, 1024)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://www.host%d.example/some/page-%d.html?with=query", i, i)
	}
	b.Run("url", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			l.Match(urls[i%len(urls)])
		}
		b.ReportMetric(made.Seconds(), "s-to-sort")
	})
	b.Run("digest", func(b *testing.B) { benchmarkHas(b, &l.groups[0].digests) })
}

// benchmarkHas is the look-up alone, of digests all over the list, half of them in it.
func benchmarkHas(b *testing.B, d *digests) {
	rng := rand.New(rand.NewPCG(3, 4))
	probes := make([][]byte, 1<<16)
	for i := range probes {
		probes[i] = append([]byte(nil), d.at(rng.IntN(d.Len()))...)
		if i%2 == 0 {
			probes[i][19]++
		}
	}
	for i := 0; b.Loop(); i++ {
		d.has(probes[i%len(probes)])
	}
}

func randomDigests(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	flat := make([]byte, 0, 20*n+24)
	for len(flat) < 20*n {
		flat = binary.LittleEndian.AppendUint64(flat, rng.Uint64())
	}
	return flat[:20*n]
}
