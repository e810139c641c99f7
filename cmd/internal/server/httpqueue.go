package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/firstseen/firstseen/cmd/internal/steer"
	"github.com/firstseen/firstseen/internal/wire"
)

func (s *httpAPI) postQueue(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.QueueSettings](s, w, r)
	if !ok {
		return
	}
	if body.Limit != nil || body.Paused != nil {
		if c := callOf(r.Context()); c != nil {
			c.steers = true
		}
		if !s.allows(r.Context(), Admin) {
			writeError(w, http.StatusForbidden, "forbidden", "cannot change limit or paused; want a token of scope admin")
			return
		}
	}
	change, err := steer.ChangeOf(&body)
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

// postPause pauses or resumes all queues.
func (s *httpAPI) postPause(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.Pause](s, w, r)
	if !ok {
		return
	}
	if body.Paused == nil {
		writeError(w, http.StatusBadRequest, "invalid", "cannot pause or resume; the body names neither; send \"paused\" with true or false")
		return
	}
	err := s.inTurn(r.Context(), callUnits, func(ctx context.Context) error { return s.pause(ctx, *body.Paused) })
	if err != nil {
		s.writeFault(w, "pause", err)
		return
	}
	writeJSON(w, http.StatusOK, body)
}
