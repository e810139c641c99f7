package server

import (
	"fmt"
	"net/http"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// redirectBody is the body of POST /v1/redirect: a lease as it was handed out,
// and where its URL led.
type redirectBody struct {
	Crawl         string    `json:"crawl,omitempty"`
	Queue         string    `json:"queue,omitempty"`
	Key           string    `json:"key"`
	Token         string    `json:"token"`
	URL           string    `json:"url"`
	URLBytes      bytesText `json:"url_bytes,omitempty"`
	Discriminator string    `json:"discriminator,omitempty"`
	Target        string    `json:"target,omitempty"`
	TargetBytes   bytesText `json:"target_bytes,omitempty"` // goes before Target
	RawMeta       bool      `json:"raw_meta,omitempty"`
}

// redirectAnswer has one of the two.
type redirectAnswer struct {
	// Follow is the lease under which to fetch the target now.
	Follow *leasedURL `json:"follow,omitempty"`
	// Target is the verdict on the target, offered like a link; the lease is over.
	Target *verdictLine `json:"target,omitempty"`
}

// postRedirect tells whether a redirect is to be followed now, as the page
// itself under another spelling, or was offered like a link.
func (s *Server) postRedirect(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[redirectBody](s, w, r)
	if !ok {
		return
	}
	target := textOr(body.Target, body.TargetBytes)
	if target == "" {
		writeError(w, http.StatusBadRequest, "invalid", "want a target")
		return
	}
	if len(target) > s.cfg.MaxURL {
		writeError(w, http.StatusBadRequest, "too-long", "target too long")
		return
	}
	lease, err := s.leaseAgain(r, &body)
	if err == nil {
		err = s.roomFor(1)
	}
	if err != nil {
		s.writeFault(w, "redirect", err)
		return
	}
	answer, err := s.f.Redirect(r.Context(), lease, target)
	if err != nil {
		s.writeFault(w, "redirect", err)
		return
	}
	if answer.Follow != nil {
		follow := wireLease(answer.Follow, body.RawMeta)
		writeJSON(w, http.StatusOK, redirectAnswer{Follow: &follow})
		return
	}
	v := verdictLine{URL: body.Target, URLBytes: body.TargetBytes}
	v.fill(&answer.Target)
	writeJSON(w, http.StatusOK, redirectAnswer{Target: &v})
}

// leaseAgain makes a lease whole again: the store knows what the wire leaves out.
func (s *Server) leaseAgain(r *http.Request, b *redirectBody) (*frontier.Lease, error) {
	named := doneLease{Crawl: b.Crawl, Key: b.Key, Token: b.Token}
	settlement, err := named.settlement()
	if err != nil {
		return nil, err
	}
	l := settlement.Lease
	u := frontier.Link{URL: textOr(b.URL, b.URLBytes), Crawl: crawlName(b.Crawl), Queue: b.Queue, Discriminator: b.Discriminator}
	e, err := s.f.Lookup(r.Context(), u)
	if err != nil {
		return nil, err
	}
	if e.Key != l.Key {
		return nil, fmt.Errorf("cannot redirect; got a URL of key %x; want that of the lease, %s: %w", e.Key[:], b.Key, store.ErrInvalid)
	}
	return &frontier.Lease{URL: u.URL, Crawl: u.Crawl, Queue: e.Entry.Queue, Key: l.Key, Token: l.Token, Meta: e.Meta, Depth: e.Depth,
		Redirects: e.Redirects, Discriminator: e.Discriminator, Priority: e.Priority, Attempts: e.Attempts, Created: e.Created}, nil
}
