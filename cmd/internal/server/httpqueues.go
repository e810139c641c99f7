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

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// maxLooked bounds the queues looked at for one page of a search.
const maxLooked = 200_000

// getQueues lists queues of a crawl whose name contains a text, page by page or those with most
// waiting URLs first, or one by its name.
func (s *httpAPI) getQueues(ctx context.Context, q url.Values) (answer wire.Queues, err error) {
	answer.Queues = []wire.Queue{}
	crawl, describe := crawlName(q.Get("crawl")), s.describer(ctx)
	if name := q.Get("queue"); name != "" {
		err = s.addQueue(ctx, &answer, describe, crawl, name)
		return answer, err
	}
	limit := pageSize
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		limit = n
	}
	match := matcher(q.Get("search"), true)
	if q.Get("order") == "waiting" {
		if q.Get("after") != "" {
			return answer, fault.As(store.ErrInvalid, "cannot list queues; got order waiting with after; leave one out: queues by waiting URLs have one page")
		}
		err = s.addWaiting(ctx, &answer, describe, crawl, match, limit)
		return answer, err
	}
	looked := 0
	for info, err := range s.f.Queues(ctx, crawl, q.Get("after")) {
		if err != nil {
			return answer, err
		}
		if match(info.Name) {
			one, err := describe(&info)
			if err != nil {
				return answer, err
			}
			answer.Queues = append(answer.Queues, one)
		}
		if looked++; len(answer.Queues) == limit || looked == maxLooked {
			answer.More = info.Name
			break
		}
	}
	return answer, nil
}

// addQueue adds one queue, if it is there.
func (s *httpAPI) addQueue(ctx context.Context, answer *wire.Queues, describe describer, crawl, name string) error {
	info, err := s.f.Queue(ctx, crawl, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	var a wire.Queue
	if err == nil {
		a, err = describe(&info)
	}
	if err == nil && a.State == stateInFlight {
		a.Next, err = s.leaseEnds(ctx, crawl, name)
	}
	answer.Queues = append(answer.Queues, a)
	return err
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

// describer describes queues as they are at a time, by their own settings and those of their crawls.
type describer func(*store.QueueInfo) (wire.Queue, error)

func (s *service) describer(ctx context.Context) describer {
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
		if a.State == stateReady && s.disk.full() {
			a.State, a.Reason = stateBlocked, diskLow
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
		DefaultDelaySeconds: inherited.Seconds(), Bounds: boundsOf(&q.QueueSettings)}
}

// addWaiting adds the queues of a crawl, or with "*" of all crawls that the token may touch, that
// have most waiting URLs.
func (s *httpAPI) addWaiting(ctx context.Context, answer *wire.Queues, describe describer, crawl string, match func(string) bool, limit int) error {
	top, looked := topQueues{limit: limit}, 0
	for info, err := range s.f.Queues(ctx, crawl, "") {
		if err != nil {
			return err
		}
		if looked++; looked > maxLooked {
			answer.Partial = true
			break
		}
		if match(info.Name) {
			top.add(info)
		}
	}
	for _, info := range top.sorted() {
		one, err := describe(&info)
		if err != nil {
			return err
		}
		answer.Queues = append(answer.Queues, one)
	}
	return nil
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

// postQueue changes what holds for a queue, a crawl or the store.
func (s *httpAPI) postQueue(ctx context.Context, body *wire.QueueSettings) (wire.Configured, error) {
	if steers(body) {
		if c := callOf(ctx); c != nil {
			c.steers = true
		}
		if !s.allows(ctx, Admin) {
			return wire.Configured{}, refusedAs(http.StatusForbidden, "forbidden", "cannot change limit, paused, weight or group, or what holds for a crawl or the store; want a token of scope admin")
		}
	}
	return s.configure(ctx, body)
}

// postPause pauses or resumes all queues.
func (s *httpAPI) postPause(ctx context.Context, body *wire.Pause) (*wire.Pause, error) {
	return body, s.pause(ctx, *body.Paused)
}

// postForget forgets what a request names.
func (s *httpAPI) postForget(ctx context.Context, body *wire.ForgetRequest) (is wire.Forgotten, err error) {
	crawl, err := oneCrawl(body.Crawl)
	if err == nil {
		err = s.inTurn(ctx, max(callUnits, len(body.URLs)), func(ctx context.Context) (err error) {
			is.Forgotten, err = s.forget(ctx, crawl, body)
			return err
		})
	}
	return is, err
}
