package audit

import "math"

// Interval is a range of a share, 0 to 1.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Wilson returns the score interval of a share of which n trials showed k. n
// needn't be whole: it may be the effective number of trials. With n = 0
// nothing is known.
func Wilson(k, n, confidence float64) Interval {
	if n <= 0 {
		return Interval{0, 1}
	}
	z := normalQuantile(0.5 + confidence/2)
	p := k / n
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))}
}

// normalQuantile is the inverse of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// tally has the successes and the trials of each host, since pages of one host err together.
type tally map[uint32][2]float64

func (t tally) sum() (k, n float64) {
	for _, c := range t {
		k, n = k+c[0], n+c[1]
	}
	return k, n
}

// effective returns the number of independent trials that are worth as much as
// these: fewer, when hosts differ more than chance explains (the design effect
// of cluster sampling). When all trials agree, or there are fewer than five
// hosts, hosts can't be compared, and the effective number of hosts (Kish)
// times a few is all that is claimed.
func (t tally) effective() float64 {
	k, n := t.sum()
	if n == 0 {
		return 0
	}
	p, hosts := k/n, float64(len(t))
	if p == 0 || p == 1 || hosts < 5 {
		return min(n, 4*t.kish())
	}
	var squares float64
	for _, c := range t {
		d := c[0] - p*c[1]
		squares += d * d
	}
	variance := squares / (n * n) * hosts / (hosts - 1)
	effect := max(1, variance/(p*(1-p)/n))
	return n / effect
}

// kish is the number of hosts that equal shares of the trials would have.
func (t tally) kish() float64 {
	var sum, squares float64
	for _, c := range t {
		sum += c[1]
		squares += c[1] * c[1]
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}
