package audit

// Outcome is what content says of two URLs that a rule merges.
type Outcome uint8

// The outcomes.
const (
	Same      Outcome = iota // the captures nearest in time have one digest
	Redirect                 // one URL redirects to the other's form
	Different                // the digests differ, and neither URL was seen to change
	Volatile                 // the digests differ, and one of the URLs changes by itself
	Failed                   // one of them was only ever answered 4xx or 5xx
	NoDigest                 // there is nothing to compare
	numOutcomes
)

// String returns the outcome's name in reports.
func (o Outcome) String() string {
	return [...]string{"same", "redirect", "different", "volatile", "error", "no digest"}[o]
}

// MarshalText returns the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// judge compares two URLs of one group.
func (x *index) judge(a, b uint32, sameForm func(u, v uint32) bool) (Outcome, [2]capture) {
	if x.redirectsInto(a, b, sameForm) || x.redirectsInto(b, a, sameForm) {
		return Redirect, [2]capture{}
	}
	near, ok := x.nearest(x.of(a), x.of(b))
	switch {
	case !ok && (x.failed(a) || x.failed(b)):
		return Failed, near
	case !ok:
		return NoDigest, near
	case near[0].digest == near[1].digest:
		return Same, near
	case x.changes.has(a) || x.changes.has(b):
		return Volatile, near
	}
	return Different, near
}

func (x *index) redirectsInto(from, to uint32, sameForm func(u, v uint32) bool) bool {
	for _, target := range x.redirects[from] {
		if target == to || sameForm(target, to) {
			return true
		}
	}
	return false
}

// failed reports that a URL was captured, and never with success.
func (x *index) failed(url uint32) bool {
	for _, c := range x.of(url) {
		if c.status < 400 {
			return false
		}
	}
	return len(x.of(url)) > 0
}

// nearest returns the usable captures of two URLs that are closest in time and have
// digests of one algorithm.
func (x *index) nearest(a, b []capture) (near [2]capture, ok bool) {
	best := uint32(0)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case !a[i].usable():
			i++
			continue
		case !b[j].usable():
			j++
			continue
		}
		gap := max(a[i].time, b[j].time) - min(a[i].time, b[j].time)
		if (!ok || gap < best) && x.comparable(a[i], b[j]) {
			near, best, ok = [2]capture{a[i], b[j]}, gap, true
		}
		if a[i].time <= b[j].time {
			i++
		} else {
			j++
		}
	}
	return near, ok
}
