package server

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/store"
)

// queueBody is the body of POST /v1/queue: settings of one queue, kept for when
// it comes if it holds nothing yet. What isn't given stays as it is.
type queueBody struct {
	Crawl string `json:"crawl,omitempty"`
	Queue string `json:"queue"`
	// DelaySeconds is the time from one hand-out to the next; 0 is none.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	// MaxInFlight bounds its leases at any time; 0 is the default of all.
	MaxInFlight *int `json:"max_in_flight,omitempty"`
	// BlockedUntil keeps it unserved; a time that is over unblocks it.
	BlockedUntil *time.Time `json:"blocked_until,omitempty"`
}

func (b *queueBody) change() (store.QueueChange, error) {
	c := store.QueueChange{MaxInFlight: b.MaxInFlight, BlockedUntil: b.BlockedUntil}
	if b.Queue == "" || len(b.Queue) > store.MaxQueueKey {
		return c, fmt.Errorf("cannot change a queue; got a name of %d bytes; want 1 to %d: %w", len(b.Queue), store.MaxQueueKey, store.ErrInvalid)
	}
	if n := b.MaxInFlight; n != nil && (*n < 0 || *n > unbounded) {
		return c, fmt.Errorf("cannot change a queue; got max_in_flight %d; want 0 to %d: %w", *n, unbounded, store.ErrInvalid)
	}
	if b.DelaySeconds != nil {
		delay, err := (&leaseBody{DelaySeconds: b.DelaySeconds}).delay()
		if err != nil {
			return c, err
		}
		c.Delay = &delay
	}
	return c, nil
}

func (s *Server) postQueue(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[queueBody](s, w, r)
	if !ok {
		return
	}
	change, err := body.change()
	crawl, badCrawl := oneCrawl(body.Crawl)
	if err = cmp.Or(err, badCrawl); err == nil {
		err = s.f.Configure(r.Context(), crawl, body.Queue, change)
	}
	if err != nil {
		s.writeFault(w, "change a queue", err)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}
