package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/firstseen/firstseen/store"
)

// A Filter is how an approximate seen-set of a given error rate would have done on
// the same keys.
type Filter struct {
	Rate    float64 `json:"rate"`    // of errors it is built for, when full
	Bytes   int64   `json:"bytes"`   // its size
	Dropped int64   `json:"dropped"` // new URLs it would have taken for seen
}

// Filters are measured, not computed: each key of the crawl is asked for and put in,
// as a crawler would.
type Filters struct {
	Keys     int64    `json:"keys"`
	Bloom    []Filter `json:"bloom"`
	Estimate int64    `json:"hll_estimate"` // by a HyperLogLog of 16 KiB
}

// filterRates are the error rates that are tried.
var filterRates = []float64{0.01, 0.001, 0.0001}

// MeasureFilters puts the keys of a crawl through Bloom filters sized for them.
func MeasureFilters(ctx context.Context, s store.Store, crawl string) (Filters, error) {
	stats, err := s.Stats(ctx, crawl)
	if err != nil {
		return Filters{}, fmt.Errorf("cannot count the keys: %w", err)
	}
	out := Filters{Keys: stats.Seen, Bloom: []Filter{}}
	var blooms []*bloom
	for _, rate := range filterRates {
		blooms = append(blooms, newBloom(stats.Seen, rate))
	}
	var registers [1 << 14]uint8
	dropped := make([]int64, len(blooms))
	for key, err := range s.Keys(ctx, crawl) {
		if err != nil {
			return out, fmt.Errorf("cannot list the keys: %w", err)
		}
		a, b := binary.BigEndian.Uint64(key[:]), binary.BigEndian.Uint64(key[8:])
		for i := range blooms {
			if blooms[i].add(a, b) {
				dropped[i]++
			}
		}
		r := &registers[b>>50]
		*r = max(*r, uint8(bits.LeadingZeros64(b<<14|1<<13)+1))
	}
	for i, f := range blooms {
		out.Bloom = append(out.Bloom, Filter{filterRates[i], int64(len(f.words)) * 8, dropped[i]})
	}
	out.Estimate = estimate(registers[:])
	return out, nil
}

// bloom is a plain Bloom filter. A key is a hash already: its halves make the rest.
type bloom struct {
	words  []uint64
	probes int
}

func newBloom(n int64, rate float64) *bloom {
	perKey := -math.Log(rate) / (math.Ln2 * math.Ln2)
	return &bloom{words: make([]uint64, int64(float64(n)*perKey)/64+1), probes: int(math.Round(perKey * math.Ln2))}
}

// add puts a key in and reports whether the filter took it for one it had.
func (f *bloom) add(a, b uint64) (had bool) {
	had = true
	size := uint64(len(f.words)) * 64
	for i := range uint64(f.probes) {
		at, _ := bits.Mul64(a+i*(b|1), size)
		word, bit := at>>6, uint64(1)<<(at&63)
		had = had && f.words[word]&bit != 0
		f.words[word] |= bit
	}
	return had
}

// estimate is HyperLogLog's, with linear counting where few registers are set
// (Flajolet et al. 2007).
func estimate(registers []uint8) int64 {
	sum, zeros := 0.0, 0
	for _, r := range registers {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zeros++
		}
	}
	m := float64(len(registers))
	raw := 0.7213 / (1 + 1.079/m) * m * m / sum
	if raw <= 2.5*m && zeros > 0 {
		raw = m * math.Log(m/float64(zeros))
	}
	return int64(math.Round(raw))
}
