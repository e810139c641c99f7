package frontier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Operators select URLs by state, reason, age or pattern, and list, requeue, drop or forget them: Find and Change.
// A selection is a walk over the URLs whose text is kept, since no index by state or reason exists: an index would cost each
// URL of every crawl a write, for a question that is asked once a day. A change takes the URLs in batches as they are found,
// so that no step of the store is long, whatever the selection.

// Query selects URLs whose text is kept. The zero value selects all of a crawl.
type Query struct {
	// Crawl is the crawl of the URLs, "*" for all. The default is that of [Options.Crawl].
	Crawl string
	// Queue is the only queue to look at, of one crawl. The default is all of them.
	Queue string
	// States are those of the URLs. The default is any.
	States []QueryState
	// Reasons are those for which dropped URLs were dropped. The default is any.
	Reasons []Reason
	// Before and After bound when a URL was found ([Entry.Created]): before the one, not before the other. The default is no
	// bound.
	Before, After time.Time
	// FetchedBefore and FetchedAfter bound when a URL was last fetched or given up ([Entry.Fetched]), in the same way. A URL that was
	// not, as one that is queued since it was found, is selected by neither. The default is no bound.
	FetchedBefore, FetchedAfter time.Time
	// Client is who leased the URLs ([LeaseRequest.Client]): the leased ones of that client alone. The default is any, and any state.
	Client string
	// LeasedBefore selects leased URLs alone, whose leases were taken or last extended before this time. The default is no bound.
	LeasedBefore time.Time
	// URLs has the canonical forms of the URLs. The default, nil, is all.
	URLs *canon.URLSet
}

// QueryState is a state of a URL as operators see it.
type QueryState string

// The states of a Query.
const (
	StateQueued    QueryState = "queued"    // its turn may come
	StateScheduled QueryState = "scheduled" // queued for a later time: after a failure, for a recrawl
	StateLeased    QueryState = "leased"
	StateDone      QueryState = "done"
	StateDropped   QueryState = "dropped"
)

// QueryStates are all states of a Query.
func QueryStates() []QueryState {
	return []QueryState{StateQueued, StateScheduled, StateLeased, StateDone, StateDropped}
}

// StateAt is the state of an entry at a time; "" if nothing but its key is known.
func (e *Entry) StateAt(now time.Time) QueryState {
	switch e.State {
	case store.Queued:
		if e.Due.After(now) {
			return StateScheduled
		}
		return StateQueued
	case store.Leased:
		return StateLeased
	case store.Done:
		return StateDone
	case store.Dropped:
		return StateDropped
	}
	return ""
}

// All reports whether the query selects everything in its crawl.
func (q *Query) All() bool {
	return q.Queue == "" && q.States == nil && q.Reasons == nil && q.Before.IsZero() && q.After.IsZero() && !q.asksFetched() && q.Client == "" && q.LeasedBefore.IsZero() && q.URLs == nil
}

func (q *Query) asksFetched() bool { return !q.FetchedBefore.IsZero() || !q.FetchedAfter.IsZero() }

// Find lists the URLs that a query selects, in order of crawl and queue. It ends with the first error, after which there is
// no other. One that names the states done or dropped, or a reason, or asks when URLs were fetched, of a store that has counted some and keeps
// no texts of them, ends with [store.ErrNoTexts].
func (f *Frontier) Find(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := q.check(); err != nil {
			yield(Entry{}, err)
			return
		}
		crawls := []string{f.named(q.Crawl)}
		if q.Crawl == "*" {
			var err error
			if crawls, err = f.Crawls(ctx); err != nil {
				yield(Entry{}, err)
				return
			}
		}
		now := time.Now()
		for _, crawl := range crawls {
			ended := false // there are texts of ended URLs
			for e, err := range f.Entries(ctx, crawl, q.Queue) {
				if err != nil {
					yield(Entry{}, err)
					return
				}
				ended = ended || e.State == store.Done || e.State == store.Dropped
				if q.selects(f, &e, now) && !yield(e, nil) {
					return
				}
			}
			if err := f.missing(ctx, &q, crawl, ended); err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}

func (q *Query) check() error {
	for _, s := range q.States {
		if !slices.Contains(QueryStates(), s) {
			return fault.As(store.ErrInvalid, "cannot select URLs; got state %.20q; want some of %s", s, QueryStates())
		}
	}
	for _, r := range q.Reasons {
		if !slices.Contains(DropReasons(), r) {
			return fault.As(store.ErrInvalid, "cannot select URLs; got reason %.40q; want some of %s", r, DropReasons())
		}
	}
	if q.Crawl == "*" && q.Queue != "" {
		return fault.As(store.ErrInvalid, "cannot select URLs; got queue %q of any crawl; want the name of one", q.Queue)
	}
	return nil
}

// selects reports whether a query selects an entry.
func (q *Query) selects(f *Frontier, e *Entry, now time.Time) bool {
	switch {
	case q.States != nil && !slices.Contains(q.States, e.StateAt(now)),
		q.Reasons != nil && (e.State != store.Dropped || !slices.Contains(q.Reasons, e.Reason)),
		!q.Before.IsZero() && !e.Created.Before(q.Before),
		e.Created.Before(q.After),
		q.asksFetched() && (e.Fetched.IsZero() || e.Fetched.Before(q.FetchedAfter)),
		!q.FetchedBefore.IsZero() && !e.Fetched.Before(q.FetchedBefore),
		q.Client != "" && (e.State != store.Leased || e.Client != q.Client),
		!q.LeasedBefore.IsZero() && (e.State != store.Leased || !e.Leased.Before(q.LeasedBefore)):
		return false
	case q.URLs == nil:
		return true
	}
	form, err := formForRules(f.Profile(e.Crawl), e.URL)
	if err != nil { // the rules, which may have changed, refuse it
		form = e.URL
	}
	_, ok := q.URLs.Has([]byte(form))
	return ok
}

// missing returns store.ErrNoTexts if the query asks for ended URLs of a crawl and their texts were not kept. Counts can't tell alone, since
// URLs forgotten by age stay counted: so no text is missing if any ended URL has one, or if all seen URLs are held.
func (f *Frontier) missing(ctx context.Context, q *Query, crawl string, found bool) error {
	ends := func(s QueryState) bool { return s == StateDone || s == StateDropped }
	if found || !q.asksFetched() && q.Reasons == nil && !slices.ContainsFunc(q.States, ends) {
		return nil
	}
	st, err := f.Stats(ctx, crawl)
	if err != nil || st.Seen == st.Held || st.Completed+st.Dropped == 0 {
		return err
	}
	if q.Queue != "" {
		info, err := f.Queue(ctx, crawl, q.Queue)
		if err != nil || info.Completed+info.Dropped == 0 {
			return nil
		}
		for e, err := range f.Entries(ctx, crawl, "") {
			if err != nil || e.State == store.Done || e.State == store.Dropped {
				return err
			}
		}
	}
	return store.ErrNoTexts
}

// Action is what becomes of the URLs that a query selects.
type Action string

// The actions of Change.
const (
	// ActionRequeue queues done and dropped URLs again, with no leases counted, and makes scheduled ones due now. Leased URLs
	// stay as they are: see ActionFree. Excluded ones do, too.
	ActionRequeue Action = "requeue"
	// ActionForget makes URLs new again. Leases on them end.
	ActionForget Action = "forget"
	// ActionFree ends leases whose fetchers are dead: the URLs are queued again, due now, or dropped at Options.MaxReleased, since each counts
	// as a release. A fetcher that lives after all may still report its result, until the URL is leased again.
	ActionFree Action = "free"
	// ActionDrop drops queued and scheduled URLs: they stay seen. Others stay as they are, leased ones too.
	ActionDrop Action = "drop"
)

// changeAtOnce bounds the URLs of one step of Change.
const changeAtOnce = 500

// Change applies an action to all URLs that a query selects, in bounded steps. It returns the number of URLs changed, and the number that
// ActionRequeue left as they are because they are excluded, also with an error. A query without states selects those that the action
// applies to; if the store keeps no texts of these, the error is that of Find. Change may run beside everything else: a URL that changes
// its state meanwhile may be left out. The error is store.ErrInvalid for an unknown action.
func (f *Frontier) Change(ctx context.Context, q Query, do Action) (changed, excluded int64, err error) {
	batch := changes{f: f, do: do}
	switch do {
	case ActionRequeue, ActionForget, ActionFree, ActionDrop:
	default:
		return 0, 0, fault.As(store.ErrInvalid, "cannot change URLs; got action %.20q; want requeue, forget, free or drop", do)
	}
	if q.States == nil {
		q.States = slices.DeleteFunc(QueryStates(), func(s QueryState) bool { return !touches(do, s) })
	}
	now := time.Now()
	for e, err := range f.Find(ctx, q) {
		if err != nil {
			if err = errors.Join(err, batch.apply(ctx)); batch.n > 0 {
				err = fmt.Errorf("%w; URLs that were changed before: %d", err, batch.n)
			}
			return batch.n, batch.excluded, err
		}
		if !touches(do, e.StateAt(now)) {
			continue
		}
		if e.Crawl != batch.crawl || len(batch.urls) == changeAtOnce {
			if err := batch.apply(ctx); err != nil {
				return batch.n, batch.excluded, err
			}
			batch.crawl = e.Crawl
		}
		batch.urls = append(batch.urls, e)
	}
	err = batch.apply(ctx)
	return batch.n, batch.excluded, err
}

// touches reports whether an action concerns a URL in a state.
func touches(do Action, state QueryState) bool {
	switch do {
	case ActionRequeue:
		return state == StateDone || state == StateDropped || state == StateScheduled
	case ActionFree:
		return state == StateLeased
	case ActionDrop:
		return state == StateQueued || state == StateScheduled
	}
	return state != ""
}

// changes are the URLs of one crawl that the next step takes.
type changes struct {
	f     *Frontier
	do    Action
	crawl string
	urls  []Entry

	n, excluded int64
}

// step is what becomes of a URL by any action but ActionForget.
func (c *changes) step(e *Entry) store.Settlement {
	s, r := store.Settlement{Key: e.Key, Outcome: store.Requeue}, e.kept
	switch c.do {
	case ActionDrop:
		s.Outcome, s.If, r.reason = store.Drop, store.Queued, ReasonOperator
	case ActionFree:
		s.Token = e.Token // a lease taken since then is of a fetcher that lives
		c.f.putBack(&Settlement{Outcome: Release}, &r, &s)
	case ActionRequeue:
		if s.If = e.State; e.State == store.Queued { // scheduled: the round continues
			break
		}
		s.NewRound, r = true, r.anew()
	}
	s.Meta = r.replacing()
	return s
}

func (c *changes) apply(ctx context.Context) error {
	urls := c.urls
	if c.urls = nil; len(urls) == 0 {
		return nil
	}
	if c.do == ActionForget {
		keys := make([]store.Key, len(urls))
		for i := range urls {
			keys[i] = urls[i].Key
		}
		n, err := c.f.Forget(ctx, Selection{Crawl: c.crawl, Keys: keys})
		c.n += n
		return err
	}
	of, err := c.f.crawl(ctx, c.crawl, false)
	if err != nil {
		return err
	}
	id := c.f.identifier(of)
	var steps []store.Settlement
	var texts []string
	for i := range urls {
		if c.do == ActionRequeue {
			if rule, excluded := id.excluded(urls[i].URL); excluded { // refused and counted, like an offer
				c.excluded++
				c.f.refused.count(refusalKey{crawl: of.name, reason: ReasonExcluded, rule: rule}, urls[i].URL)
				continue
			}
		}
		steps, texts = append(steps, c.step(&urls[i])), append(texts, urls[i].URL)
	}
	statuses, err := c.f.store.Settle(ctx, of.stored, steps)
	if err != nil {
		return fmt.Errorf("cannot %s URLs: %w", c.do, err)
	}
	c.f.rooms.wake(of.name)
	var queued []keyedURL
	for i, s := range statuses {
		if s == store.Settled {
			c.n++
			if c.do == ActionFree && steps[i].Outcome == store.Requeue {
				queued = append(queued, keyedURL{steps[i].Key, texts[i]})
			}
		}
	}
	_, err = c.f.dropExcluded(ctx, of, queued)
	return err
}
