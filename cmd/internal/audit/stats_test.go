package audit

import (
	"math"
	"testing"
)

// TestWilson checks values of Newcombe (1998), table I, and the ends.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n float64
		want Interval
	}{
		{81, 263, Interval{0.2553, 0.3662}},
		{15, 148, Interval{0.0624, 0.1605}},
		{0, 20, Interval{0, 0.1611}},
		{1, 29, Interval{0.0061, 0.1718}},
		{0, 0, Interval{0, 1}},
		{29, 29, Interval{0.8830, 1}},
	} {
		got := Wilson(c.k, c.n, 0.95)
		if math.Abs(got.Low-c.want.Low) > 1e-4 || math.Abs(got.High-c.want.High) > 1e-4 {
			t.Errorf("%v of %v: got %.4f; want %.4f", c.k, c.n, got, c.want)
		}
	}
}

func TestEffectiveTrials(t *testing.T) {
	even, uneven := tally{}, tally{}
	for host := range uint32(50) {
		even[host] = [2]float64{10, 20}
		uneven[host] = [2]float64{20 * float64(host%2), 20} // a host is all right or all wrong
	}
	if got := even.effective(); got != 1000 {
		t.Errorf("hosts alike: got %v effective trials; want all 1000", got)
	}
	if got := uneven.effective(); got < 40 || got > 60 {
		t.Errorf("hosts that differ wholly: got %v effective trials; want about their number, 50", got)
	}
}
