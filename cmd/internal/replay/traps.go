package replay

import (
	"slices"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// A Trap is what URLs of endless sites have in common, which [frontier.Traps] refuses.
type Trap struct {
	Name    string `json:"name"`    // the reason of the frontier
	Unique  int64  `json:"unique"`  // unique URLs that show it
	Example string `json:"example"` // the first of them
}

// trapNumber is the place of a reason in trapReasons: a frontier names one for a URL. The first is none.
type trapNumber uint8

var trapReasons = [...]frontier.Reason{"", frontier.ReasonTooLong, frontier.ReasonPathDepth, frontier.ReasonRepeats}

// trapOf looks at a canonical form.
func trapOf(form []byte) trapNumber {
	reason := (frontier.Traps{}).Check(zerocopy.String(form)) // which keeps nothing of it
	return trapNumber(max(slices.Index(trapReasons[:], reason), 0))
}

// trapCounts counts unique URLs by trap.
type trapCounts [len(trapReasons)]Trap

// show keeps the first example of each trap.
func (c *trapCounts) show(n trapNumber, form []byte) {
	if n > 0 && c[n].Example == "" {
		c[n].Example = excerpt(form)
	}
}

// result returns the traps that were seen.
func (c *trapCounts) result() []Trap {
	seen := []Trap{}
	for n := 1; n < len(c); n++ {
		if c[n].Unique > 0 {
			seen = append(seen, Trap{string(trapReasons[n]), c[n].Unique, c[n].Example})
		}
	}
	return seen
}
