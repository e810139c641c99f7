package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// crawlBody is the body of POST /v1/crawl, and its answer: the profile that
// makes the keys of a crawl, chosen before its first URL and permanent.
type crawlBody struct {
	Crawl   string `json:"crawl"`
	Profile string `json:"profile"`
}

func (s *Server) postCrawl(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[crawlBody](s, w, r)
	if !ok {
		return
	}
	p, err := canon.ParseProfile(body.Profile)
	if err != nil {
		err = fault.As(store.ErrInvalid, "cannot choose a profile: %w", err)
	}
	crawl, badCrawl := oneCrawl(body.Crawl)
	if err = cmp.Or(err, badCrawl); err == nil {
		err = s.inTurn(r.Context(), callUnits, func(ctx context.Context) error {
			return s.f.SetCrawlProfile(ctx, crawl, p)
		})
	}
	if err != nil {
		s.writeFault(w, "choose a profile", err)
		return
	}
	writeJSON(w, http.StatusOK, crawlBody{crawl, s.f.Profile(crawl).String()})
}
