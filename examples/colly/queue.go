package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// Queue is colly's queue.Storage on a frontier, for crawlers that have a
// colly queue.Queue and want to keep it:
//
//	s := NewQueue(f, c)
//	defer s.Close()
//	q, err := queue.New(4, s)
//	q.AddURL("https://example.com/")
//	err = q.Run(c)
//
// Requests are on disk, each page is queued once under any variant of its URL, and hosts are served
// politely. Colly's own storages forget a request when they return it. Here it is leased until
// its callbacks have run, so that a request in flight when the process is killed is fetched by the
// next process. A request is done when its page was scraped, or failed permanently; see outcomeOf.
//
// Colly asks for the size of the queue before each request. It reads 0 as "nothing until a request
// ends or is added". So QueueSize returns the size only if a request can be had now. It waits for
// the delay of a host only while nothing is being fetched, and logs the reason of a long wait. If the crawl has
// reached its limit, the size is 0, and colly's Run ends.
type Queue struct {
	f frontier.Interface
	// grace is how long a request may take to pass colly's filters.
	grace time.Duration

	mu   sync.Mutex
	next *frontier.Lease    // leased by QueueSize for GetRequest
	out  map[string]*handed // by token: with colly
	// idle means that QueueSize answered 0 and no request was returned since. If colly then asks
	// again while nothing is being fetched, all its requests have ended.
	idle bool
}

// handed is a request in colly's hands.
type handed struct {
	lease   *frontier.Lease
	sent    time.Time // when a thread of colly's surely had it
	started bool      // past colly's filters
	id      uint32    // of the colly request, once started
	made    string    // method and URL, once started
}

// request is what the frontier needs to know of colly's serialized request.
type request struct {
	URL    string
	Method string
	Depth  int
	Body   []byte
}

// Init does nothing: the frontier is open.
func (q *Queue) Init() error { return nil }

// AddRequest queues a request unless its page was queued before. A method other
// than GET and a body are part of what makes a request itself.
func (q *Queue) AddRequest(b []byte) error {
	l, err := linkOf(b)
	if err != nil {
		return err
	}
	results, err := q.f.AddBatch(context.Background(), []frontier.Link{l})
	if err == nil && results[0].Status == frontier.StatusRefused {
		err = fmt.Errorf("cannot queue %q: refused as %s", l.URL, results[0].Reason)
	}
	return err
}

func linkOf(b []byte) (frontier.Link, error) {
	var r request
	if err := json.Unmarshal(b, &r); err != nil {
		return frontier.Link{}, fmt.Errorf("cannot queue request: %w", err)
	}
	l := frontier.Link{URL: r.URL, Depth: max(r.Depth, 0), Meta: b}
	if r.Method != "GET" || len(r.Body) > 0 {
		l.Discriminator = fmt.Sprintf("%s %x", r.Method, sha256.Sum256(r.Body))
	}
	return l, nil
}

// QueueSize returns how many requests wait, if one of them can be had now.
func (q *Queue) QueueSize() (int, error) {
	began, told := time.Now(), ""
	for {
		size, after, idle, err := q.size()
		if err != nil || after == 0 {
			return size, err
		}
		if says := idle.String(); time.Since(began) > silence && says != told {
			log.Print("the frontier is ", says)
			told = says
		}
		time.Sleep(after) // a host's delay; nothing is being fetched
	}
}

// silence is how long a wait may last before its reason is logged.
const silence = 5 * time.Second

// patience bounds the wait for what others hold.
const patience = 100 * time.Millisecond

// size is QueueSize, or says after what time to ask again, and why.
func (q *Queue) size() (n int, after time.Duration, idle frontier.Idle, err error) {
	ctx := context.Background()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.drop(ctx, q.fallen(time.Now())); err != nil {
		return 0, 0, idle, err
	}
	if idle, err = q.lease(ctx); err != nil {
		return 0, 0, idle, err
	}
	if q.next == nil && (q.fetching() || !q.idle && len(q.out) > 0) {
		q.idle = true
		return 0, 0, idle, nil
	}
	if q.next == nil {
		if err := q.drop(ctx, slices.Collect(maps.Keys(q.out))); err != nil {
			return 0, 0, idle, err
		}
	}
	s, err := q.f.Stats(ctx, "")
	switch {
	case err != nil || s.Held == 0 || q.next == nil && idle.State == store.Limited:
		return 0, 0, idle, err
	case q.next == nil:
		return 0, max(min(time.Until(idle.Next), patience), time.Millisecond), idle, nil
	}
	return int(max(s.Held-int64(len(q.out)), 1)), 0, idle, nil
}

// lease leases the next request, if one may be fetched now, or says why there is none.
func (q *Queue) lease(ctx context.Context) (idle frontier.Idle, err error) {
	for q.next == nil {
		var leases []*frontier.Lease
		if leases, idle, err = q.f.Lease(ctx, frontier.LeaseRequest{}); err != nil || len(leases) == 0 {
			return idle, err
		}
		q.next = leases[0]
	}
	return idle, nil
}

// fetching reports whether a request has passed colly's filters and is not settled.
func (q *Queue) fetching() bool {
	for _, h := range q.out {
		if h.started {
			return true
		}
	}
	return false
}

// fallen returns the requests that colly dropped without a callback, because its filters refused
// them or a callback aborted them. When colly asks for more, its threads have received all earlier
// requests; a request that has not passed the filters soon after never will.
func (q *Queue) fallen(now time.Time) (names []string) {
	for name, h := range q.out {
		if h.sent.IsZero() {
			h.sent = now
		} else if !h.started && now.Sub(h.sent) > q.grace {
			names = append(names, name)
		}
	}
	return names
}

// drop gives up requests. Their URLs stay seen.
func (q *Queue) drop(ctx context.Context, names []string) error {
	var over []frontier.Settlement
	for _, name := range names {
		over = append(over, frontier.Settlement{Lease: q.out[name].lease, Outcome: frontier.Drop})
		delete(q.out, name)
	}
	_, err := q.f.Settle(ctx, over)
	return err
}

// GetRequest returns the request that QueueSize leased.
func (q *Queue) GetRequest() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, err := q.lease(context.Background()); err != nil || q.next == nil {
		return nil, err
	}
	l := q.next
	name := strconv.FormatUint(l.Token, 10)
	q.out[name], q.next, q.idle = &handed{lease: l}, nil, false
	fields, err := fieldsOf(l)
	if err != nil {
		return nil, err
	}
	ctx, _ := fields["Ctx"].(map[string]any)
	if ctx == nil {
		ctx = make(map[string]any)
	}
	ctx[leaseName] = name
	fields["Ctx"] = ctx
	return json.Marshal(fields)
}

// leaseName is where a request carries the name of its lease.
const leaseName = "firstseen-lease"

// fieldsOf returns the colly request of a lease, which was stored with its URL. A URL that another
// program queued is a plain GET. The URL is always the lease's: the target of a redirect has the
// request of its source, and a page that was not found may be leased under its canonical form.
func fieldsOf(l *frontier.Lease) (map[string]any, error) {
	fields := map[string]any{"Method": "GET", "Depth": l.Depth}
	if len(l.Meta) > 0 {
		d := json.NewDecoder(bytes.NewReader(l.Meta))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			return nil, fmt.Errorf("cannot read request of %q: %w", l.URL, err)
		}
	}
	fields["URL"] = l.URL
	return fields, nil
}

// Close releases the request that was leased in advance, and gives up the requests that colly
// dropped. Call it after Run has returned.
func (q *Queue) Close() error {
	ctx := context.Background()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.drop(ctx, slices.Collect(maps.Keys(q.out))); err != nil || q.next == nil {
		return err
	}
	l := q.next
	q.next = nil
	return q.f.Release(ctx, l)
}

// NewQueue makes a queue storage for a collector, whose callbacks settle what
// they fetch. The queue is the frontier's own crawl (frontier.Options.Crawl).
func NewQueue(f frontier.Interface, c collector) *Queue {
	q := &Queue{f: f, out: make(map[string]*handed), grace: time.Second}
	if !c.IgnoreRobotsTxt {
		q.grace = 30 * time.Second // a filter that asks the site
	}
	q.attach(c)
	return q
}
