package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// maxLooked bounds the queues looked at for one page of a search.
const maxLooked = 200_000

// getQueues lists queues of a crawl whose name contains a text, page by page or those with most
// waiting URLs first, or one by its name.
func (s *httpAPI) getQueues(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("queue") != "" {
		s.getQueue(w, r, crawlName(q.Get("crawl")), q.Get("queue"))
		return
	}
	limit := pageSize
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		limit = n
	}
	match := matcher(q.Get("search"), true)
	if q.Get("order") == "waiting" {
		s.getWaiting(w, r, q, match, limit)
		return
	}
	answer := wire.Queues{Queues: []wire.Queue{}}
	describe, looked := s.describer(r.Context()), 0
	for info, err := range s.f.Queues(r.Context(), crawlName(q.Get("crawl")), q.Get("after")) {
		if err != nil {
			s.writeFault(w, "list queues", err)
			return
		}
		if match(info.Name) {
			one, err := describe(&info)
			if err != nil {
				s.writeFault(w, "list queues", err)
				return
			}
			answer.Queues = append(answer.Queues, one)
		}
		if looked++; len(answer.Queues) == limit || looked == maxLooked {
			answer.More = info.Name
			break
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

// getQueue answers with one queue, or none.
func (s *httpAPI) getQueue(w http.ResponseWriter, r *http.Request, crawl, name string) {
	answer := wire.Queues{Queues: []wire.Queue{}}
	info, err := s.f.Queue(r.Context(), crawl, name)
	if err == nil {
		var a wire.Queue
		if a, err = s.describer(r.Context())(&info); err == nil && a.State == stateInFlight {
			a.Next, err = s.leaseEnds(r.Context(), crawl, name)
		}
		answer.Queues = append(answer.Queues, a)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.writeFault(w, "look up a queue", err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// maxEnded bounds the completed URLs that are read before the leases of a queue, which a store
// lists after them.
const maxEnded = 50_000

// leaseEnds returns when the first lease of a queue runs out, or zero if that would take too
// long to find.
func (s *httpAPI) leaseEnds(ctx context.Context, crawl, queue string) (time.Time, error) {
	n := 0
	for e, err := range s.f.Entries(ctx, crawl, queue) {
		switch n++; {
		case err != nil:
			return time.Time{}, err
		case e.State == store.Leased:
			return e.Expires, nil
		case e.State == store.Queued, n == maxEnded:
			return time.Time{}, nil
		}
	}
	return time.Time{}, nil
}

// describer returns a function that describes queues as they are now, by their own settings and those of their crawls.
func (s *service) describer(ctx context.Context) func(*store.QueueInfo) (wire.Queue, error) {
	now, of := time.Now(), map[string]QueueDefaults{}
	return func(q *store.QueueInfo) (wire.Queue, error) {
		d, ok := of[q.Crawl]
		if !ok {
			var err error
			if d, err = s.queueDefaults(ctx, q.Crawl); err != nil {
				return wire.Queue{}, err
			}
			of[q.Crawl] = d
		}
		a, waits := wireQueue(q, d, now), false
		if s.f.own != nil {
			if a.Failures, waits = s.f.own.Failing(q.Crawl, q.Name); waits && a.State == stateDelayed {
				a.Reason = fmt.Sprintf("%d fetches in a row failed", a.Failures)
			}
		}
		return a, nil
	}
}

func wireQueue(q *store.QueueInfo, d QueueDefaults, now time.Time) wire.Queue {
	st := queueStateOf(q, d, now)
	inherited := time.Duration(0)
	if q.Delay == 0 {
		inherited = max(cmp.Or(d.Crawl.Delay, d.Store.Delay, d.Delay), 0)
	}
	return wire.Queue{Crawl: q.Crawl, Queue: q.Name, Held: q.Held, InFlight: q.InFlight, Completed: q.Completed, Dropped: q.Dropped, Fetched: q.Fetched, Failed: q.Failed,
		State: st.Name, Reason: st.Reason, Next: st.Next,
		DelaySeconds: max(q.Delay, 0).Seconds(), DefaultDelaySeconds: inherited.Seconds(),
		Limit: q.Limit, MaxInFlight: q.MaxInFlight, Weight: q.Weight, BlockedUntil: q.BlockedUntil, Group: q.Group}
}

// getWaiting lists the queues of a crawl, or with "*" of all crawls that the token may touch, that
// have most waiting URLs.
func (s *httpAPI) getWaiting(w http.ResponseWriter, r *http.Request, q url.Values, match func(string) bool, limit int) {
	if q.Get("after") != "" {
		writeError(w, http.StatusBadRequest, "invalid", "cannot list queues; got order waiting with after; leave one out: queues by waiting URLs have one page")
		return
	}
	crawls := []string{crawlName(q.Get("crawl"))}
	if crawls[0] == "*" {
		var err error
		if crawls, err = s.f.Crawls(r.Context()); err != nil {
			s.writeFault(w, "list crawls", err)
			return
		}
	}
	answer := wire.Queues{Queues: []wire.Queue{}}
	top, looked := topQueues{limit: limit}, 0
crawls:
	for _, crawl := range crawls {
		for info, err := range s.f.Queues(r.Context(), crawl, "") {
			if err != nil {
				s.writeFault(w, "list queues", err)
				return
			}
			if looked++; looked > maxLooked {
				answer.Partial = true
				break crawls
			}
			if match(info.Name) {
				top.add(info)
			}
		}
	}
	describe := s.describer(r.Context())
	for _, info := range top.sorted() {
		one, err := describe(&info)
		if err != nil {
			s.writeFault(w, "list queues", err)
			return
		}
		answer.Queues = append(answer.Queues, one)
	}
	writeJSON(w, http.StatusOK, answer)
}

// topQueues keeps the queues with most waiting URLs, at most twice as many as its limit.
type topQueues struct {
	limit int
	kept  []store.QueueInfo
}

func (t *topQueues) add(q store.QueueInfo) {
	if t.kept = append(t.kept, q); len(t.kept) >= 2*t.limit {
		t.kept = t.sorted()
	}
}

// sorted returns the queues with most waiting URLs first; those with the same number by crawl and
// name.
func (t *topQueues) sorted() []store.QueueInfo {
	slices.SortFunc(t.kept, func(a, b store.QueueInfo) int {
		return cmp.Or(cmp.Compare(b.Held-b.InFlight, a.Held-a.InFlight), cmp.Compare(a.Crawl, b.Crawl), cmp.Compare(a.Name, b.Name))
	})
	return t.kept[:min(t.limit, len(t.kept))]
}

func (s *httpAPI) postQueue(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.QueueSettings](s, w, r)
	if !ok {
		return
	}
	if steers(&body) {
		if c := callOf(r.Context()); c != nil {
			c.steers = true
		}
		if !s.allows(r.Context(), Admin) {
			writeError(w, http.StatusForbidden, "forbidden", "cannot change limit, paused, weight or group, or what holds for a crawl or the store; want a token of scope admin")
			return
		}
	}
	var is wire.Configured
	err := s.inTurn(r.Context(), callUnits, func(ctx context.Context) (err error) {
		is, err = s.configure(ctx, &body)
		return err
	})
	if err != nil {
		s.writeFault(w, "change a queue", err)
		return
	}
	writeJSON(w, http.StatusOK, is)
}

// postPause pauses or resumes all queues.
func (s *httpAPI) postPause(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.Pause](s, w, r)
	if !ok {
		return
	}
	err := s.inTurn(r.Context(), callUnits, func(ctx context.Context) error { return s.pause(ctx, *body.Paused) })
	if err != nil {
		s.writeFault(w, "pause", err)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// postForget forgets what a request names.
func (s *httpAPI) postForget(w http.ResponseWriter, r *http.Request) {
	body, held, ok := readHeld[wire.ForgetRequest](s, w, r)
	defer held.done()
	if !ok {
		return
	}
	var n int64
	crawl, err := oneCrawl(body.Crawl)
	if err == nil {
		err = s.inTurn(r.Context(), max(callUnits, len(body.URLs)), func(ctx context.Context) (err error) {
			n, err = s.forget(ctx, crawl, &body)
			return err
		})
	}
	if err != nil {
		s.writeFault(w, "forget", err)
		return
	}
	writeJSON(w, http.StatusOK, wire.Forgotten{Forgotten: n})
}
