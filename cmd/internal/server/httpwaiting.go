package server

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// getWaiting lists the queues of a crawl, or with "*" of all crawls that the token may touch, that
// have most waiting URLs.
func (s *httpAPI) getWaiting(w http.ResponseWriter, r *http.Request, q url.Values, match func(string) bool, limit int) {
	if q.Get("after") != "" {
		writeError(w, http.StatusBadRequest, "invalid", "cannot list queues; got order waiting with after; leave one out: queues by waiting URLs have one page")
		return
	}
	crawls := []string{crawlName(q.Get("crawl"))}
	if crawls[0] == "*" {
		var err error
		if crawls, err = s.f.Crawls(r.Context()); err != nil {
			s.writeFault(w, "list crawls", err)
			return
		}
	}
	answer := wire.Queues{Queues: []wire.Queue{}}
	top, looked := topQueues{limit: limit}, 0
crawls:
	for _, crawl := range crawls {
		for info, err := range s.f.Queues(r.Context(), crawl, "") {
			if err != nil {
				s.writeFault(w, "list queues", err)
				return
			}
			if looked++; looked > maxLooked {
				answer.Partial = true
				break crawls
			}
			if match(info.Name) {
				top.add(info)
			}
		}
	}
	defaults, now := s.queueDefaults(), time.Now()
	for _, info := range top.sorted() {
		answer.Queues = append(answer.Queues, wireQueue(&info, defaults, now))
	}
	writeJSON(w, http.StatusOK, answer)
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
