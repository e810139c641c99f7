package audit

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	shownShare = regexp.MustCompile(`(?:only|sure enough:|room for) ([\d.]+) %`)
	wantedOne  = regexp.MustCompile(`want (?:at least )?([\d.]+)`)
)

// TestDoubtsNameTheirBound: whatever two halves show, the reason against a rule says what was wanted, and what there is does not look as if
// it were that much.
func TestDoubtsNameTheirBound(t *testing.T) {
	half := func(pairs, held int) evidence {
		return evidence{Evidence: Evidence{Pairs: pairs, Held: held}, control: float64(pairs), bad: pairs - held}
	}
	for pairs := range 70 {
		for held := max(0, pairs-4); held <= pairs; held++ {
			for _, other := range []evidence{half(0, 0), half(9, 9), half(17, 17), half(40, 40)} {
				why := doubtContents([2]evidence{half(pairs, held), other}, pairs+other.Pairs)
				want := wantedOne.FindStringSubmatch(why)
				if why != "" && want == nil {
					t.Fatalf("%d of %d, %d: got %q; want a bound", held, pairs, other.Pairs, why)
				}
				if got := shownShare.FindStringSubmatch(why); got != nil {
					is, _ := strconv.ParseFloat(got[1], 64)
					if bound, _ := strconv.ParseFloat(strings.TrimSuffix(want[1], "."), 64); is >= bound {
						t.Errorf("%d of %d, %d: got %q, which looks like enough", held, pairs, other.Pairs, why)
					}
				}
			}
		}
	}
}
