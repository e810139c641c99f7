package server

import (
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// The states of a queue. Of several that hold, the first of this list is reported.
const (
	statePaused   = "paused"    // by an operator, until resumed
	stateBlocked  = "blocked"   // until a time
	stateLimited  = "limited"   // as many of its pages as its limit were fetched or are leased
	stateEmpty    = "empty"     // there is no URL in it
	stateInFlight = "in-flight" // all its URLs are leased, or as many as its bound allows
	stateDelayed  = "delayed"   // by its delay, or because its URLs are due later
	stateReady    = "ready"     // the next request gets a URL of it
)

// queueStates are all states.
var queueStates = []string{stateReady, stateInFlight, stateDelayed, stateBlocked, statePaused, stateLimited, stateEmpty}

// queueState is the state of a queue.
type queueState struct {
	Name string
	// Reason is the bound that holds the queue, in words; empty for stateReady and stateEmpty.
	Reason string
	// Next is when the state changes at the latest if nothing is done, zero if it does not or
	// that is not known: a lease may end at any time, and the store does not list their ends by
	// queue.
	Next time.Time
}

// queueStateOf returns the state of a queue.
func queueStateOf(q *store.QueueInfo, d QueueDefaults, now time.Time) queueState {
	bound, source := q.MaxInFlight, "the queue"
	if bound == 0 {
		bound, source = d.MaxInFlight, "the default"
	}
	switch {
	case d.Paused:
		return queueState{Name: statePaused, Reason: "all queues are paused"}
	case q.Paused:
		return queueState{Name: statePaused, Reason: "the queue is paused"}
	case q.BlockedUntil.After(now):
		return queueState{stateBlocked, "blocked until " + timeText(q.BlockedUntil), q.BlockedUntil}
	case q.Limit > 0 && q.Fetched >= q.Limit:
		return queueState{Name: stateLimited, Reason: fmt.Sprintf("%d pages fetched, of a limit of %d", q.Fetched, q.Limit)}
	case q.Held == 0:
		return queueState{Name: stateEmpty}
	case q.Held == q.InFlight:
		return queueState{Name: stateInFlight, Reason: "all its URLs are leased"}
	case bound > 0 && q.InFlight >= int64(bound):
		return queueState{Name: stateInFlight, Reason: fmt.Sprintf("%d leased, of at most %d by %s", q.InFlight, bound, source)}
	case q.Next.After(now):
		return queueState{stateDelayed, delayedBy(q, d), q.Next}
	}
	return queueState{Name: stateReady}
}

// delayedBy is the reason for a time that is to come.
func delayedBy(q *store.QueueInfo, d QueueDefaults) string {
	delay, source := q.Delay, "the queue"
	if delay == 0 {
		delay, source = d.Delay, "the default"
	}
	if delay > 0 && !q.LastTake.IsZero() && !q.Next.After(q.LastTake.Add(delay)) {
		return fmt.Sprintf("a delay of %v by %s, since %s", delay, source, timeText(q.LastTake))
	}
	return "its next URL is due at " + timeText(q.Next)
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// queueDefaults are what holds for queues without settings now.
func (s *service) queueDefaults() QueueDefaults {
	d := s.cfg.Queues
	d.Paused = s.paused.Load() || s.pausedHere.now()
	return d
}
