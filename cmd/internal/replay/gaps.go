package replay

import "math/bits"

// Gaps is how far apart the exact repeats of a URL are. A window of the last n
// events catches the repeats that are at most n apart; a cache of recent URLs that
// holds as many as n events bring does the same.
type Gaps struct {
	// Within is the number of repeats at most so far apart: 1, 3, 7, 15, …
	Within []Count `json:"within"`
	// Window is how far the last events must be remembered to catch a share of the repeats.
	Window []Quantile `json:"window"`
}

// A Count is how many are at most as far apart as Limit.
type Count struct {
	Limit int64 `json:"limit"`
	Count int64 `json:"count"`
}

// A Quantile is a distance that a share of the repeats doesn't exceed.
type Quantile struct {
	Share float64 `json:"share"`
	Limit int64   `json:"limit"`
}

// gaps counts distances in steps of an eighth of a power of two, so that a quantile
// is right within a tenth.
type gaps struct{ counts [8 * 65]int64 }

func (g *gaps) add(distance uint64) { g.counts[gapStep(distance)]++ }

// gapStep numbers the steps; gapLimit is the largest distance of one.
func gapStep(d uint64) int {
	if d < 8 {
		return int(d)
	}
	n := bits.Len64(d) - 1 // the highest bit, at least 3
	return 8*(n-2) + int(d>>(n-3)&7)
}

func gapLimit(step int) int64 {
	if step < 8 {
		return int64(step)
	}
	n := step/8 + 2
	return int64(uint64(8+step%8+1)<<(n-3)) - 1
}

func (g *gaps) result() Gaps {
	var total, sum int64
	for _, n := range g.counts {
		total += n
	}
	out := Gaps{Within: []Count{}, Window: []Quantile{}}
	shares := []float64{0.5, 0.9, 0.95, 0.99, 1}
	for step, n := range g.counts {
		sum += n
		limit := gapLimit(step)
		for total > 0 && len(shares) > 0 && float64(sum) >= shares[0]*float64(total) {
			out.Window = append(out.Window, Quantile{shares[0], limit})
			shares = shares[1:]
		}
		if sum > 0 && (limit&(limit+1) == 0 || sum == total) {
			out.Within = append(out.Within, Count{limit, sum})
		}
		if sum == total {
			break
		}
	}
	return out
}
