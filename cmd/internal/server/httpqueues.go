package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/queuestate"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// maxLooked bounds the queues looked at for one page of a search.
const maxLooked = 200_000

// getQueues lists queues of a crawl whose name contains a text, page by page or those with most
// waiting URLs first, or one by its name.
func (s *httpAPI) getQueues(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, order, problem := pageOf(q)
	switch {
	case problem != "":
		writeError(w, http.StatusBadRequest, "invalid", "cannot list queues; "+problem)
		return
	case q.Get("queue") != "":
		s.getQueue(w, r, crawlName(q.Get("crawl")), q.Get("queue"))
		return
	}
	match := matcher(q.Get("search"), true)
	if order == "waiting" {
		s.getWaiting(w, r, q, match, limit)
		return
	}
	answer := wire.Queues{Queues: []wire.Queue{}}
	defaults, now, looked := s.queueDefaults(), time.Now(), 0
	for info, err := range s.f.Queues(r.Context(), crawlName(q.Get("crawl")), q.Get("after")) {
		if err != nil {
			s.writeFault(w, "list queues", err)
			return
		}
		if match(info.Name) {
			answer.Queues = append(answer.Queues, wireQueue(&info, defaults, now))
		}
		if looked++; len(answer.Queues) == limit || looked == maxLooked {
			answer.More = info.Name
			break
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

// pageOf returns how many queues a page has and their order, or what is wrong with the parameters.
func pageOf(q url.Values) (limit int, order, problem string) {
	limit = pageSize
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 10_000 {
			return 0, "", fmt.Sprintf("got limit %.20q; want 1 to 10000", text)
		}
		limit = n
	}
	switch order = q.Get("order"); order {
	case "", "name", "waiting":
		return limit, order, ""
	}
	return 0, "", fmt.Sprintf("got order %.20q; want name or waiting", order)
}

// getQueue answers with one queue, or none.
func (s *httpAPI) getQueue(w http.ResponseWriter, r *http.Request, crawl, name string) {
	answer := wire.Queues{Queues: []wire.Queue{}}
	info, err := s.f.Queue(r.Context(), crawl, name)
	if err == nil {
		a := wireQueue(&info, s.queueDefaults(), time.Now())
		if a.State == queuestate.InFlight {
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

// queueDefaults are what holds for queues without settings now.
func (s *service) queueDefaults() queuestate.Defaults {
	d := s.cfg.Queues
	d.Paused = s.paused.Load() || s.pausedHere.now()
	return d
}

func wireQueue(q *store.QueueInfo, d queuestate.Defaults, now time.Time) wire.Queue {
	st := queuestate.Of(q, d, now)
	defaultDelay := d.Delay.Seconds()
	if q.Delay != 0 {
		defaultDelay = 0
	}
	return wire.Queue{Crawl: q.Crawl, Queue: q.Name, Held: q.Held, InFlight: q.InFlight, Completed: q.Completed, Dropped: q.Dropped,
		State: st.Name, Reason: st.Reason, Next: st.Next,
		DelaySeconds: max(q.Delay, 0).Seconds(), DefaultDelaySeconds: defaultDelay, Limit: q.Limit, BlockedUntil: q.BlockedUntil}
}
