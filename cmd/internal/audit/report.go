package audit

import (
	"encoding/json"
	"time"
)

// MinStable is how many contents with a stable control a verdict needs.
const MinStable = 20

// Report is what an audit found.
type Report struct {
	Captures   int       `json:"captures"`   // fetches, of which
	Digests    int       `json:"digests"`    // had a content to compare
	URLs       int       `json:"urls"`       // distinct URLs captured
	Recaptured int       `json:"recaptured"` // URLs captured more than once
	Repeats    int       `json:"repeats"`    // URLs whose content another URL had before
	Confidence float64   `json:"confidence"` // of the intervals
	Forms      []Verdict `json:"forms"`      // rules, then sets of rules
	Profile    string    `json:"profile"`    // the profile asked for
	Against    *Against  `json:"against,omitempty"`
	Unread     []Unread  `json:"unread,omitempty"` // filled in by the caller
}

// Unread is a file that could not be read to its end. What was read of it counts.
type Unread struct {
	File    string `json:"file"`
	Records int64  `json:"records"`
	Error   string `json:"error"`
}

// Against compares the profile with another one.
type Against struct {
	Profile string  `json:"profile"`
	Joined  Verdict `json:"joined"` // merges that the other makes beyond the profile's
	Split   Verdict `json:"split"`  // merges of the profile that the other doesn't make
}

// Counts are pairs by outcome.
type Counts [numOutcomes]int

// MarshalJSON writes an object with a field for each outcome.
func (c Counts) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"same": c[Same], "redirect": c[Redirect], "different": c[Different],
		"volatile": c[Volatile], "error": c[Failed], "no_digest": c[NoDigest]})
}

// Verdict is the result for one rule or set of rules. Page loss, in the
// terms of Lee, Kim and Hong, is Outcomes[Different].
type Verdict struct {
	Name     string     `json:"name"`
	Kind     Kind       `json:"kind"`
	Merges   int        `json:"merges"` // URLs it would have saved
	Outcomes Counts     `json:"outcomes"`
	Naive    float64    `json:"naive"`               // same of same, different and volatile: not to be trusted
	Expected float64    `json:"expected"`            // pairs that would be the same by their controls, if all were one page
	Stable   int        `json:"stable"`              // contents of pairs with a stable control, or of which one was not found, each once for a host
	Held     int        `json:"held"`                // of them, the same
	Verdict  *Estimate  `json:"precision,omitempty"` // nil: no verdict
	Why      string     `json:"no_verdict,omitempty"`
	Explains int        `json:"explains"`           // of the repeats: had their content from a URL of their group
	LeftOut  *int       `json:"left_out,omitempty"` // URLs that the profile saves less without this rule; nil if it hasn't the rule
	Gap      float64    `json:"median_gap_seconds"` // between the captures that were compared
	Examples []Example  `json:"examples,omitempty"` // pairs that were different
	Lost     []HostLoss `json:"lost,omitempty"`     // hosts with most of them
}

// Estimate is the share of merges in which the two URLs were one page.
type Estimate struct {
	Share     float64  `json:"share"`
	Interval  Interval `json:"interval"`
	Trials    int      `json:"trials"`           // contents it is based on, each once for a host
	Effective float64  `json:"effective_trials"` // independent trials that are worth as much
}

// Example is a pair that a rule merges although the contents differ.
type Example struct {
	A       string    `json:"a"`
	B       string    `json:"b"`
	DigestA string    `json:"digest_a"` // "Not Found" or "Gone" of what was no page
	DigestB string    `json:"digest_b"`
	TimeA   time.Time `json:"time_a"`
	TimeB   time.Time `json:"time_b"`
	Stable  bool      `json:"stable"` // whether its control is stable

	a, b uint32 // the URLs
}

// HostLoss is a host whose pages a rule would lose.
type HostLoss struct {
	Host      string `json:"host"`
	Different int    `json:"different"` // pairs that were different, or of which one was not found
	Merges    int    `json:"merges"`
}
