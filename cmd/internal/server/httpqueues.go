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
	"github.com/firstseen/firstseen/store"
)

// queueAnswer is one queue of GET /v1/queues.
type queueAnswer struct {
	Crawl        string  `json:"crawl"`
	Queue        string  `json:"queue"`
	Held         int64   `json:"held"`
	InFlight     int64   `json:"in_flight"`
	Completed    int64   `json:"completed"`
	Dropped      int64   `json:"dropped"`
	State        string  `json:"state"` // see queuestate
	Reason       string  `json:"reason,omitempty"`
	DelaySeconds float64 `json:"delay_seconds,omitempty"`
	// DefaultDelaySeconds is the delay of a queue that has none of its own.
	DefaultDelaySeconds float64   `json:"default_delay_seconds,omitempty"`
	Limit               int64     `json:"limit,omitempty"`
	Next                time.Time `json:"next,omitzero"` // when the state changes by itself
	BlockedUntil        time.Time `json:"blocked_until,omitzero"`
}

type queuesAnswer struct {
	Queues []queueAnswer `json:"queues"`
	// More is the queue to ask on from, as after; empty at the end.
	More string `json:"more,omitempty"`
	// Partial reports that there are more queues than maxLooked, so that one with more waiting URLs
	// may be missing.
	Partial bool `json:"partial,omitempty"`
}

// maxLooked bounds the queues looked at for one page of a search.
const maxLooked = 200_000

// getQueues lists queues of a crawl whose name contains a text, page by page or those with most
// waiting URLs first, or one by its name.
func (s *Server) getQueues(w http.ResponseWriter, r *http.Request) {
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
	answer := queuesAnswer{Queues: []queueAnswer{}}
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
func (s *Server) getQueue(w http.ResponseWriter, r *http.Request, crawl, name string) {
	answer := queuesAnswer{Queues: []queueAnswer{}}
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
func (s *Server) leaseEnds(ctx context.Context, crawl, queue string) (time.Time, error) {
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
func (s *Server) queueDefaults() queuestate.Defaults {
	d := s.cfg.Queues
	d.Paused = s.paused.Load() || s.pausedHere.now()
	return d
}

func wireQueue(q *store.QueueInfo, d queuestate.Defaults, now time.Time) queueAnswer {
	st := queuestate.Of(q, d, now)
	defaultDelay := d.Delay.Seconds()
	if q.Delay != 0 {
		defaultDelay = 0
	}
	return queueAnswer{Crawl: q.Crawl, Queue: q.Name, Held: q.Held, InFlight: q.InFlight, Completed: q.Completed, Dropped: q.Dropped,
		State: st.Name, Reason: st.Reason, Next: st.Next,
		DelaySeconds: max(q.Delay, 0).Seconds(), DefaultDelaySeconds: defaultDelay, Limit: q.Limit, BlockedUntil: q.BlockedUntil}
}
