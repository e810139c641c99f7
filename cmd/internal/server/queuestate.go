package server

import (
	"cmp"
	"context"
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

// scope is where a setting was made.
type scope struct {
	name string // "the queue"
	set  *store.QueueSettings
}

// is returns the beginning of a sentence about the scope.
func (s scope) is() string {
	if s.name == allQueues {
		return s.name + " are"
	}
	return s.name + " is"
}

const allQueues = "all queues"

// scopesOf lists where settings of a queue may come from, the nearest first.
func scopesOf(q *store.QueueInfo, d *QueueDefaults) []scope {
	return []scope{{"the queue", &q.QueueSettings}, {"the crawl", &d.Crawl.QueueSettings}, {allQueues, &d.Store.QueueSettings},
		{"the default", &store.QueueSettings{MaxInFlight: d.MaxInFlight, Delay: d.Delay}}}
}

// nearest returns the first scope that has a setting, and the setting.
func nearest[T comparable](scopes []scope, of func(*store.QueueSettings) T) (value T, from string) {
	for _, s := range scopes {
		if v := of(s.set); v != value {
			return v, s.name
		}
	}
	return value, ""
}

// queueStateOf returns the state of a queue.
func queueStateOf(q *store.QueueInfo, d QueueDefaults, now time.Time) queueState {
	scopes := scopesOf(q, &d)
	if d.Paused {
		return queueState{Name: statePaused, Reason: allQueues + " are paused"}
	}
	var blocked scope
	for _, s := range scopes {
		if s.set.Paused {
			return queueState{Name: statePaused, Reason: s.is() + " paused"}
		}
		if until := s.set.BlockedUntil; until.After(now) && (blocked.set == nil || until.After(blocked.set.BlockedUntil)) {
			blocked = s
		}
	}
	limit, crawlLimit := cmp.Or(q.Limit, d.Crawl.QueueLimit, d.Store.QueueLimit), cmp.Or(d.Crawl.Limit, d.Store.Limit)
	bound, boundFrom := nearest(scopes, func(s *store.QueueSettings) int { return s.MaxInFlight })
	switch {
	case blocked.set != nil:
		until := blocked.set.BlockedUntil
		return queueState{stateBlocked, blocked.is() + " blocked until " + timeText(until), until}
	case limit > 0 && q.Fetched >= limit:
		return queueState{Name: stateLimited, Reason: fmt.Sprintf("%d pages fetched, of a limit of %d", q.Fetched, limit)}
	case crawlLimit > 0 && d.Fetched >= crawlLimit:
		return queueState{Name: stateLimited, Reason: fmt.Sprintf("%d pages of the crawl fetched, of a limit of %d", d.Fetched, crawlLimit)}
	case q.Held == 0:
		return queueState{Name: stateEmpty}
	case q.Held == q.InFlight:
		return queueState{Name: stateInFlight, Reason: "all its URLs are leased"}
	case bound > 0 && q.InFlight >= int64(bound):
		return queueState{Name: stateInFlight, Reason: fmt.Sprintf("%d leased, of at most %d by %s", q.InFlight, bound, boundFrom)}
	case q.Next.After(now):
		return queueState{stateDelayed, delayedBy(q, scopes), q.Next}
	}
	return queueState{Name: stateReady}
}

// delayedBy is the reason for a time that is to come.
func delayedBy(q *store.QueueInfo, scopes []scope) string {
	delay, from := nearest(scopes, func(s *store.QueueSettings) time.Duration { return s.Delay })
	if delay > 0 && !q.LastTake.IsZero() && !q.Next.After(q.LastTake.Add(delay)) {
		return fmt.Sprintf("a delay of %v by %s, since %s", delay, from, timeText(q.LastTake))
	}
	return "its next URL is due at " + timeText(q.Next)
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// queueDefaults are what holds for queues of a crawl without settings of their own now.
func (s *service) queueDefaults(ctx context.Context, crawl string) (QueueDefaults, error) {
	d := s.cfg.Queues
	var err error
	if d.Store, err = s.f.reader.Settings(ctx, "*"); err != nil {
		return d, err
	}
	if d.Crawl, err = s.f.reader.Settings(ctx, crawl); err != nil {
		return d, err
	}
	if cmp.Or(d.Crawl.Limit, d.Store.Limit) > 0 {
		st, err := s.f.reader.Stats(ctx, crawl)
		if d.Fetched = st.Fetched; err != nil {
			return d, err
		}
	}
	d.Paused = d.Store.Paused || s.pausedHere.now()
	return d, nil
}
