package sched

import (
	"slices"

	"github.com/firstseen/firstseen/store"
)

// Judge decides the effect of a settlement without reading a store: it is the table in the comment of store.Store, as code.

// Fact is the state of a key when it is settled.
type Fact struct {
	Known     bool
	State     store.State // SeenOnly unless its text is there
	Token     uint64      // of the lease
	Due       int64       // of a URL that is queued
	Earlier   []uint64    // tokens of the round, without that of the lease
	Overtaken *Lease      // of the key, if it runs; nil for none
}

// Step is the effect of a settlement.
type Step uint8

// The steps.
const (
	Leave  Step = iota // change nothing
	Same               // already done: change nothing but the settings of its queue
	Apply              // apply the outcome to the URL, in its own queue
	Make               // apply the outcome to a URL made from the settlement, in the queue it names
	Close              // end the overtaken lease
	Resume             // the same, and make the URL, which waited for it, due now
)

// Judge returns the step of a settlement, and the answer. For a settlement with a token the fact
// needs only the lease. keep means that the store keeps the text of completed and dropped URLs.
func Judge(s *store.Settlement, f Fact, keep bool) (Step, store.SettleStatus) {
	held := f.State == store.Queued || f.State == store.Leased
	switch {
	case s.Token != 0 && (f.State != store.Leased || f.Token != s.Token):
		return judgeLate(s, &f)
	case s.Outcome == store.Extend && f.State == store.Queued, s.If != store.SeenOnly && f.Known && f.State != s.If:
		return Leave, store.Stale
	case held:
		return Apply, store.Settled
	case f.Known:
		return judgeEnded(s, f.State, keep)
	case s.Create:
		return Make, store.Created
	}
	return Leave, store.Unknown
}

// judgeLate judges a settlement with a token that is not the current one.
func judgeLate(s *store.Settlement, f *Fact) (Step, store.SettleStatus) {
	switch {
	case f.Overtaken != nil && f.Overtaken.Token == s.Token:
		switch {
		case s.Outcome == store.Extend: // its fetcher is still at the page
			return Leave, store.AlreadyDone
		case f.Overtaken.Keeps(f.State, f.Due):
			return Resume, store.AlreadyDone
		}
		return Close, store.AlreadyDone
	case !s.Late || !slices.Contains(f.Earlier, s.Token):
		return Leave, store.Stale
	case f.State == store.Done:
		return Leave, store.AlreadyDone
	}
	return Apply, store.Settled
}

// judgeEnded judges a settlement of a key that is known and not held.
func judgeEnded(s *store.Settlement, state store.State, keep bool) (Step, store.SettleStatus) {
	text := state != store.SeenOnly
	switch {
	case s.Outcome == store.Complete && state == store.Done:
		return Same, store.Settled
	case text && (s.Outcome == store.Complete || s.Outcome == store.Requeue):
		return Apply, store.Settled
	case !text && s.Create && (keep || s.Outcome == store.Requeue):
		return Make, store.Settled
	case !text && (s.Outcome == store.Complete || s.Create):
		return Leave, store.Settled
	}
	return Leave, store.Unknown
}

// Due returns the due time that a settlement asks for.
func Due(s *store.Settlement, now int64) int64 {
	if s.After > 0 {
		return min(now+DurMs(s.After), maxMs)
	}
	return MsOr(s.Due, now)
}

// Ended returns when a URL ended that a settlement completes or drops: no earlier than was, its previous end (0: none), since
// an old log must not move a later end back.
func Ended(s *store.Settlement, was, now int64) int64 { return max(was, min(MsOr(s.Ended, now), now)) }

// Change makes a settlement's replacements in the record.
func (r *Record) Change(s *store.Settlement) {
	if s.URL != "" && !s.Create {
		r.URL = s.URL
	}
	if s.Meta != nil {
		r.Meta = append([]byte{}, s.Meta...)
	}
	if s.Priority != nil {
		r.Priority = *s.Priority
	}
	if s.NewRound {
		r.Anew()
	}
}

// Anew begins a new round, in which the URL has not ended.
func (r *Record) Anew() { r.Attempts, r.Earlier, r.Ended = 0, nil, 0 }

// EarlierTokens bounds the tokens that a record keeps beside the current one.
const EarlierTokens = 15

// Past returns the record of a lease that a settlement ends, with the lease's token among the earlier ones, unless that token
// completes the URL. A settlement with an earlier token overtakes a lease that still runs.
func (l *Lease) Past(s *store.Settlement) Record {
	r := l.Record
	if s.Outcome != store.Complete || s.Token != l.Token {
		r.pass(l.Token)
	}
	return r
}

// pass adds a token to the earlier ones, and forgets the oldest beyond the bound. The list may be shared with copies of the record.
func (r *Record) pass(token uint64) {
	old := r.Earlier[max(0, len(r.Earlier)-EarlierTokens+1):]
	r.Earlier = append(old[:len(old):len(old)], token)
}
