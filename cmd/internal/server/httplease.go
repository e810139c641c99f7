package server

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// leaseBody is the body of POST /v1/lease.
type leaseBody struct {
	Crawl       string `json:"crawl,omitempty"`
	Queue       string `json:"queue,omitempty"`
	Max         int    `json:"max,omitempty"`
	MaxQueues   int    `json:"max_queues,omitempty"`
	MaxPerQueue int    `json:"max_per_queue,omitempty"`
	// MaxInFlight bounds the leases of a queue at any time. The default is MaxPerQueue.
	MaxInFlight  int `json:"max_in_flight,omitempty"`
	LeaseSeconds int `json:"lease_seconds,omitempty"`
	// DelaySeconds is the delay of queues that have none of their own. The
	// default is the server's.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
}

type leaseAnswer struct {
	Leases []leasedURL `json:"leases"`
	// Next is when asking again may give more.
	Next time.Time `json:"next,omitzero"`
}

// leasedURL is a lease on the wire. The first four fields name it when it is
// settled. The token is text since it needs all of 64 bits.
type leasedURL struct {
	Crawl    string              `json:"crawl"`
	Key      string              `json:"key"`
	Token    string              `json:"token"`
	Attempts int                 `json:"attempts"`
	URL      string              `json:"url"`
	Queue    string              `json:"queue"`
	Metadata map[string][]string `json:"metadata,omitempty"`
	Depth    int                 `json:"depth,omitempty"`
	Priority uint8               `json:"priority,omitempty"`
	Expires  time.Time           `json:"expires"`

	Discriminator string `json:"discriminator,omitempty"`
}

// maxLease bounds a lease.
const maxLease = 7 * 24 * time.Hour

func (b *leaseBody) request() (frontier.LeaseRequest, error) {
	for name, n := range map[string]int{"max": b.Max, "max_queues": b.MaxQueues, "max_per_queue": b.MaxPerQueue, "max_in_flight": b.MaxInFlight, "lease_seconds": b.LeaseSeconds} {
		if n < 0 || n > unbounded {
			return frontier.LeaseRequest{}, fmt.Errorf("cannot lease; got %s %d; want 0 to %d: %w", name, n, unbounded, store.ErrInvalid)
		}
	}
	if len(b.Queue) > store.MaxQueueKey {
		return frontier.LeaseRequest{}, fmt.Errorf("cannot lease; got a queue of %d bytes; want at most %d: %w", len(b.Queue), store.MaxQueueKey, store.ErrInvalid)
	}
	req := frontier.LeaseRequest{Crawl: b.Crawl, Queue: b.Queue, Max: min(max(b.Max, 1), takeAtOnce), MaxQueues: b.MaxQueues,
		MaxPerQueue: b.MaxPerQueue, MaxInFlight: b.MaxPerQueue,
		Lease: min(time.Duration(b.LeaseSeconds)*time.Second, maxLease)}
	if req.Lease == 0 {
		req.Lease = defaultLease
	}
	if b.MaxInFlight > 0 {
		req.MaxInFlight = b.MaxInFlight
	}
	var err error
	if req.Delay, err = b.delay(); err != nil {
		return req, err
	}
	if req.Crawl == "" && req.Queue != "" {
		req.Crawl = defaultCrawl
	}
	return req, nil
}

// delay is the delay in the frontier's terms: 0 is the server's own, and
// negative is none.
func (b *leaseBody) delay() (time.Duration, error) {
	switch d := b.DelaySeconds; {
	case d == nil:
		return 0, nil
	case !(*d >= 0 && *d <= maxLease.Seconds()):
		return 0, fmt.Errorf("cannot lease; got delay_seconds %v; want 0 to %v: %w", *d, maxLease.Seconds(), store.ErrInvalid)
	case *d == 0:
		return -1, nil
	default:
		return max(time.Duration(*d*float64(time.Second)), time.Nanosecond), nil
	}
}

func (s *Server) postLease(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[leaseBody](s, w, r)
	if !ok {
		return
	}
	req, err := body.request()
	if err == nil {
		err = s.roomFor(1)
	}
	if err != nil {
		s.writeFault(w, "lease", err)
		return
	}
	began := time.Now()
	leases, next, err := s.f.LeaseFrom(r.Context(), req)
	if err != nil {
		s.writeFault(w, "lease", err)
		return
	}
	s.count.getCalls.Inc()
	s.count.getURLs.Add(float64(len(leases)))
	s.count.lease.Observe(time.Since(began).Seconds())
	answer := leaseAnswer{Leases: make([]leasedURL, len(leases)), Next: next}
	for i, l := range leases {
		answer.Leases[i] = wireLease(l)
	}
	writeJSON(w, http.StatusOK, answer)
}

func wireLease(l *frontier.Lease) leasedURL {
	var info frontierpb.URLInfo
	unpackMeta(&info, l.Meta)
	out := leasedURL{Crawl: l.Crawl, Key: hex.EncodeToString(l.Key[:]), Token: strconv.FormatUint(l.Token, 10), Attempts: l.Attempts,
		URL: l.URL, Queue: l.Queue, Depth: l.Depth, Priority: l.Priority, Expires: l.Expires, Discriminator: l.Discriminator}
	for name, list := range info.Metadata {
		if out.Metadata == nil {
			out.Metadata = make(map[string][]string, len(info.Metadata))
		}
		out.Metadata[name] = append([]string{}, list.GetValues()...)
	}
	return out
}
