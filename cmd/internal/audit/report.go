package audit

import "time"

// MinStable is how many stable pairs a verdict takes.
const MinStable = 20

// Report is what an audit found.
type Report struct {
	Captures   int // fetches, of which
	Digests    int // had a content to compare
	URLs       int // distinct URLs captured
	Recaptured int // URLs captured more than once
	Repeats    int // URLs whose content another URL had before
	Forms      []Verdict
}

// Verdict is what was found of one rule or set of rules.
type Verdict struct {
	Name     string
	Kind     Kind
	Merges   int              // URLs it would have saved
	Outcomes [numOutcomes]int `json:"-"`
	Counts   map[Outcome]int  // pairs of each outcome
	Naive    float64          // same of same, different and volatile: not to be trusted
	Expected float64          // pairs that would be the same by their controls, if all were one page
	Stable   int              // pairs with a stable control
	Held     int              // of them, the same
	Verdict  *Estimate        `json:",omitempty"` // nil: no verdict
	Why      string           `json:",omitempty"` // why there is none
	Explains int              // of the repeats: had their content from a URL of their group
	LeftOut  int              // URLs the whole set saves less without this rule
	Median   time.Duration    // between the captures that were compared
	Examples []Example        `json:",omitempty"` // pairs that were different
	Lost     []HostLoss       `json:",omitempty"` // hosts with most of them
}

// Estimate is the share of merges in which the two URLs were one page.
type Estimate struct {
	Share     float64
	Interval  Interval
	Trials    int     // pairs it stands on
	Effective float64 // independent trials that are worth as much
}

// Example is a pair that a rule merges although the contents differ.
type Example struct {
	A, B             string
	DigestA, DigestB string
	TimeA, TimeB     time.Time
	Stable           bool     // whether its control is stable
	Rules            []string `json:",omitempty"` // the smallest set of rules that merges it
}

// HostLoss is a host whose pages a rule would lose.
type HostLoss struct {
	Host      string
	Different int // pairs that were different
	Merges    int
}
