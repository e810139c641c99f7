package sched

import "github.com/firstseen/firstseen/store"

// Fact is what is known of a key when a settlement comes.
type Fact struct {
	Known bool
	State store.State // Done also when the text is no longer kept
	Token uint64      // of the lease
	Text  bool        // its text is there: it is held, or done and kept
}

// Step is what a settlement comes to.
type Step uint8

// The steps.
const (
	Refuse Step = iota // change nothing
	Same               // it is so already: change nothing but the settings
	Apply              // apply the outcome to the URL, in its own queue
	Make               // apply the outcome to a URL made from the settlement, in the queue it names
)

// Judge returns what a settlement comes to, and the answer.
func Judge(s *store.Settlement, f Fact) (Step, store.SettleStatus) {
	held := f.State == store.Queued || f.State == store.Leased
	switch {
	case !f.Known && s.Create:
		return Make, store.Created
	case !f.Known:
		return Refuse, store.Unknown
	case s.Token != 0 && (f.State != store.Leased || f.Token != s.Token):
		return Refuse, store.Stale
	case !held:
		return judgeFree(s, f)
	case s.Outcome == store.Extend && f.State != store.Leased:
		return Refuse, store.Stale
	}
	return Apply, store.Settled
}

// judgeFree judges a settlement of a key that is known and not held.
func judgeFree(s *store.Settlement, f Fact) (Step, store.SettleStatus) {
	switch {
	case s.Outcome == store.Complete && f.State == store.Done:
		return Same, store.Settled
	case s.Outcome == store.Requeue && f.Text:
		return Apply, store.Settled
	case s.Create:
		return Make, store.Settled
	}
	return Refuse, store.Unknown
}

// Change applies to a record what a settlement replaces in it.
func (r *Record) Change(s *store.Settlement) {
	if s.URL != "" {
		r.URL = s.URL
	}
	if s.Meta != nil {
		r.Meta = append([]byte{}, s.Meta...)
	}
	if s.Priority != nil {
		r.Priority = *s.Priority
	}
	if s.ResetAttempts {
		r.Attempts = 0
	}
}
