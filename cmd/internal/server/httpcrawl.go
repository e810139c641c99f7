package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

func (s *httpAPI) postCrawl(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.CrawlProfile](s, w, r)
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
	writeJSON(w, http.StatusOK, wire.CrawlProfile{Crawl: crawl, Profile: s.f.Profile(crawl).String()})
}
