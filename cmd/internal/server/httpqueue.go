package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

func queueChangeOf(b *wire.QueueSettings) (store.QueueChange, error) {
	c := store.QueueChange{MaxInFlight: b.MaxInFlight, BlockedUntil: b.BlockedUntil}
	if b.Queue == "" || len(b.Queue) > store.MaxQueueKey {
		return c, fmt.Errorf("cannot change a queue; got a name of %d bytes; want 1 to %d: %w", len(b.Queue), store.MaxQueueKey, store.ErrInvalid)
	}
	if n := b.MaxInFlight; n != nil && (*n < 0 || *n > unbounded) {
		return c, fmt.Errorf("cannot change a queue; got max_in_flight %d; want 0 to %d: %w", *n, unbounded, store.ErrInvalid)
	}
	if b.DelaySeconds != nil {
		delay, err := delayOf(b.DelaySeconds)
		if err != nil {
			return c, err
		}
		c.Delay = &delay
	}
	return c, nil
}

func (s *Server) postQueue(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.QueueSettings](s, w, r)
	if !ok {
		return
	}
	change, err := queueChangeOf(&body)
	crawl, badCrawl := oneCrawl(body.Crawl)
	if err = cmp.Or(err, badCrawl); err == nil {
		err = s.inTurn(r.Context(), callUnits, func(ctx context.Context) error {
			return s.f.Configure(ctx, crawl, body.Queue, change)
		})
	}
	if err != nil {
		s.writeFault(w, "change a queue", err)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}
