// Package queuestate answers why a queue hands out no URL, for the daemon, its pages and the
// command line.
package queuestate

import (
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// The states of a queue. Of several that hold, the first of this list is reported.
const (
	Paused   = "paused"    // by an operator, until resumed
	Blocked  = "blocked"   // until a time
	Limited  = "limited"   // as many URLs as its limit are completed
	Empty    = "empty"     // there is no URL in it
	InFlight = "in-flight" // all its URLs are leased, or as many as its bound allows
	Delayed  = "delayed"   // by its delay, or because its URLs are due later
	Ready    = "ready"     // the next request gets a URL of it
)

// Names are all states.
var Names = []string{Ready, InFlight, Delayed, Blocked, Paused, Limited, Empty}

// Defaults hold for queues without settings of their own.
type Defaults struct {
	MaxInFlight int           // 0 for no bound
	Delay       time.Duration // 0 for none
	Paused      bool          // all queues are
}

// State is the state of a queue.
type State struct {
	Name string
	// Reason is the bound that holds the queue, in words; empty for Ready and Empty.
	Reason string
	// Next is when the state changes at the latest if nothing is done, zero if it does not or
	// that is not known: a lease may end at any time, and the store does not list their ends by
	// queue.
	Next time.Time
}

// Of returns the state of a queue.
func Of(q *store.QueueInfo, d Defaults, now time.Time) State {
	bound, source := q.MaxInFlight, "the queue"
	if bound == 0 {
		bound, source = d.MaxInFlight, "the default"
	}
	switch {
	case d.Paused:
		return State{Name: Paused, Reason: "all queues are paused"}
	case q.Paused:
		return State{Name: Paused, Reason: "the queue is paused"}
	case q.BlockedUntil.After(now):
		return State{Blocked, "blocked until " + at(q.BlockedUntil), q.BlockedUntil}
	case q.Limit > 0 && q.Completed >= q.Limit:
		return State{Name: Limited, Reason: fmt.Sprintf("%d URLs completed, of a limit of %d", q.Completed, q.Limit)}
	case q.Held == 0:
		return State{Name: Empty}
	case q.Held == q.InFlight:
		return State{Name: InFlight, Reason: "all its URLs are leased"}
	case bound > 0 && q.InFlight >= int64(bound):
		return State{Name: InFlight, Reason: fmt.Sprintf("%d leased, of at most %d by %s", q.InFlight, bound, source)}
	case q.Next.After(now):
		return State{Delayed, delayed(q, d), q.Next}
	}
	return State{Name: Ready}
}

// delayed is the reason for a time that is to come.
func delayed(q *store.QueueInfo, d Defaults) string {
	delay, source := q.Delay, "the queue"
	if delay == 0 {
		delay, source = d.Delay, "the default"
	}
	if delay > 0 && !q.LastTake.IsZero() && !q.Next.After(q.LastTake.Add(delay)) {
		return fmt.Sprintf("a delay of %v by %s, since %s", delay, source, at(q.LastTake))
	}
	return "its next URL is due at " + at(q.Next)
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
