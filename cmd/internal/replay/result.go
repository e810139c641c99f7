package replay

import (
	"errors"

	"github.com/firstseen/firstseen/cmd/internal/logs"
)

// A Result is what a replay found. URLs = ExactUnique + ExactDuplicates, and
// ExactUnique = Unique + CanonicalDuplicates.
type Result struct {
	Lines   int64 `json:"lines"`
	Blank   int64 `json:"blank"`
	Skipped int64 `json:"skipped"` // records that are no fetch or link
	Bad     int64 `json:"bad"`     // records that can't be read
	URLs    int64 `json:"urls"`    // events whose URL has a canonical form
	Refused int64 `json:"refused"` // lines that have none, and bad records

	ExactUnique         int64 `json:"exact_unique"`
	ExactDuplicates     int64 `json:"exact_duplicates"`
	Unique              int64 `json:"unique"` // canonical forms in these inputs
	CanonicalDuplicates int64 `json:"canonical_duplicates"`
	Duplicates          int64 `json:"duplicates"`
	New                 int64 `json:"new"` // of Unique: those the store didn't know before

	Bytes          int64 `json:"bytes,omitempty"` // fetched, where the log has sizes
	DuplicateBytes int64 `json:"duplicate_bytes,omitempty"`

	Seconds       float64          `json:"seconds"`
	Interrupted   bool             `json:"interrupted,omitempty"`
	RefusedBy     map[string]int64 `json:"refused_by,omitempty"`
	FirstRefusals []Refusal        `json:"first_refusals,omitempty"`
	Errors        []InputError     `json:"errors,omitempty"`
	Hosts         []HostStats      `json:"hosts"` // by duplicates, all of them
	Inputs        []InputStats     `json:"inputs"`
	Units         logs.Counts      `json:"units"` // of all inputs
	Kinds         Kinds            `json:"kinds"`
	Traps         []Trap           `json:"traps"`
	Rules         *Rules           `json:"rules,omitempty"`
	// Spilled is how many spellings were beyond the budget of the exact table;
	// repeats among them aren't attributed to a host as exact ones.
	Spilled int64 `json:"spilled,omitempty"`
}

// An InputError is an input that couldn't be read to its end.
type InputError struct {
	Input   string `json:"input"`
	Message string `json:"message"`
	err     error
}

func (e InputError) Error() string { return e.Message }
func (e InputError) Unwrap() error { return e.err }

// result sums up. The error is the store's, or one of counting.
func (t *tally) result(e *engine) (*Result, error) {
	r := &Result{
		Lines: t.done.Units, Blank: t.done.Blank, Skipped: t.done.Skipped(), Bad: t.done.Refused, Kinds: t.doneKinds,
		New: t.isNew, Unique: t.unique, RefusedBy: t.refused, Errors: e.failed, Spilled: t.spills,
		Inputs: t.inputs, FirstRefusals: t.bad, Traps: t.traps.result(),
	}
	for i := range r.Inputs {
		r.Units.Add(&r.Inputs[i].Units)
	}
	t.sumSpellings(e, r)
	r.ExactUnique += t.exact
	r.Hosts = t.hosts.byDuplicates()
	for _, h := range r.Hosts {
		r.URLs += h.URLs
		r.Bytes += h.Bytes
		r.DuplicateBytes += h.DuplicateBytes
	}
	if r.Bad > 0 {
		r.RefusedBy[badRecord] += r.Bad
	}
	for _, n := range r.RefusedBy {
		r.Refused += n
	}
	r.ExactDuplicates = r.URLs - r.ExactUnique
	r.CanonicalDuplicates = r.ExactUnique - r.Unique
	r.Duplicates = r.URLs - r.Unique
	if t.sample != nil {
		r.Rules = t.sample.measure(e.rules, t.opt.Workers, r.ExactUnique, r.Unique)
	}
	return r, errors.Join(t.failed, t.close())
}

// sumSpellings adds up the repeats of each spelling, for the host it belongs to.
func (t *tally) sumSpellings(e *engine, r *Result) {
	for i := range e.exact.n {
		owner, times := *t.owner.at(i), int64(*e.count.at(i))
		switch {
		case owner == 0: // the store failed before it answered
		case owner < firstHost:
			t.refused[t.codes[owner-firstRefusal]] += times + 1
		default:
			h := t.hosts.at(owner - firstHost)
			h.URLs += times + 1
			h.Exact += times
			if i>>chunkBits < uint32(len(e.bytes.chunks)) {
				repeated := *e.bytes.at(i)
				h.Bytes += repeated
				h.DuplicateBytes += repeated
			}
			r.ExactUnique++
		}
	}
}
