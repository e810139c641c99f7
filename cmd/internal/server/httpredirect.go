package server

import (
	"context"
	"net/http"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// postRedirect answers whether the client must follow a redirect now, because its target is
// a variant of the page itself, or whether the target was offered like a link.
func (s *httpAPI) postRedirect(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.RedirectRequest](s, w, r)
	if !ok {
		return
	}
	target := wire.TextOr(body.Target, body.TargetBytes)
	if target == "" {
		writeError(w, http.StatusBadRequest, "invalid", `the field "target" is missing`)
		return
	}
	if len(target) > s.cfg.MaxURL {
		writeError(w, http.StatusBadRequest, "too-long", "target too long")
		return
	}
	var answer frontier.Redirection
	if s.rest(r.Context()) != nil {
		return // the client is gone, or its call was ended
	}
	s.rateOf(r.Context()).charge(1)
	err := s.inTurn(r.Context(), callUnits, func(ctx context.Context) error {
		lease, err := s.leaseAgain(ctx, &body)
		if err == nil {
			err = s.roomFor(1)
		}
		if err == nil {
			answer, err = s.f.Redirect(ctx, lease, target)
		}
		return err
	})
	if err != nil {
		s.writeFault(w, "redirect", err)
		return
	}
	if answer.Follow != nil {
		follow := wireLease(answer.Follow, body.RawMeta)
		writeJSON(w, http.StatusOK, wire.Redirection{Follow: &follow})
		return
	}
	v := wire.VerdictLine{URL: body.Target, URLBytes: body.TargetBytes}
	fillVerdict(&v, &answer.Target)
	writeJSON(w, http.StatusOK, wire.Redirection{Target: &v})
}

// leaseAgain makes a lease whole again: the store knows what the wire leaves out.
func (s *httpAPI) leaseAgain(ctx context.Context, b *wire.RedirectRequest) (*frontier.Lease, error) {
	named := wire.DoneLease{Crawl: b.Crawl, Key: b.Key, Token: b.Token}
	settlement, err := settlementOf(&named)
	if err != nil {
		return nil, err
	}
	l := settlement.Lease
	u := frontier.Link{URL: wire.TextOr(b.URL, b.URLBytes), Crawl: crawlName(b.Crawl), Queue: b.Queue, Discriminator: b.Discriminator}
	e, err := s.f.Lookup(ctx, u)
	if err != nil {
		return nil, err
	}
	if e.Key != l.Key {
		return nil, fault.As(store.ErrInvalid, "cannot redirect; got a URL of key %x; want that of the lease, %s", e.Key[:], b.Key)
	}
	return &frontier.Lease{URL: u.URL, Crawl: u.Crawl, Queue: e.Entry.Queue, Key: l.Key, Token: l.Token, Meta: e.Meta, Depth: e.Depth,
		Redirects: e.Redirects, Discriminator: e.Discriminator, Priority: e.Priority, Attempts: e.Attempts, Created: e.Created}, nil
}
