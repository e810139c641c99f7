package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

var outcomes = map[string]frontier.Outcome{
	"": frontier.Done, "done": frontier.Done, "retry": frontier.Retry, "recrawl": frontier.Recrawl,
	"drop": frontier.Drop, "release": frontier.Release, "extend": frontier.Extend, "defer": frontier.Defer, "redirected": frontier.Redirected,
}

func settlementOf(d *wire.DoneLease) (frontier.Settlement, error) {
	l := &frontier.Lease{Crawl: d.Crawl}
	if n, err := hex.Decode(l.Key[:], []byte(d.Key[:min(len(d.Key), 2*len(l.Key))])); err != nil || n != len(l.Key) || len(d.Key) != 2*n || strings.ToLower(d.Key) != d.Key {
		return frontier.Settlement{}, fault.As(store.ErrInvalid, "cannot settle; got key %.40q; want %d hex digits", d.Key, 2*len(l.Key))
	}
	var err error
	if l.Token, err = strconv.ParseUint(d.Token, 10, 64); err != nil || strings.HasPrefix(d.Token, "0") {
		return frontier.Settlement{}, fault.As(store.ErrInvalid, "cannot settle; got token %.40q; want that of a lease", d.Token)
	}
	meta := []byte(d.Meta)
	if d.Metadata != nil {
		if meta != nil {
			return frontier.Settlement{}, fault.As(store.ErrInvalid, "cannot settle; got the fields metadata and meta; want one of them")
		}
		meta = AppendMetadata([]byte{}, d.Metadata)
	}
	if d.TookSeconds > 0 {
		l.Started = time.Now().Add(-seconds(d.TookSeconds, maxLease))
	}
	return frontier.Settlement{Lease: l, Outcome: outcomes[d.Outcome], At: d.At, BlockQueue: d.BlockQueueUntil, Meta: meta, Priority: d.Priority, Fetched: (*frontier.Fetched)(d.Fetched)}, nil
}

func (s *httpAPI) postDone(w http.ResponseWriter, r *http.Request) {
	if answer, ok := s.settleBody(w, r); ok {
		writeJSON(w, http.StatusOK, answer)
	}
}

// settleBody settles what a body says, unless it answers with an error. What the
// body held is given back before the answer is written, which a client may be slow
// to read.
func (s *httpAPI) settleBody(w http.ResponseWriter, r *http.Request) (out wire.Answers, ok bool) {
	body, held, ok := readHeld[wire.Done](s, w, r)
	defer held.done()
	if !ok {
		return out, false
	}
	settlements := make([]frontier.Settlement, len(body.Leases))
	var err error
	for i := range body.Leases {
		body.Leases[i].Crawl = cmp.Or(body.Leases[i].Crawl, body.Crawl)
		if settlements[i], err = settlementOf(&body.Leases[i]); err == nil && len(settlements[i].Meta) > s.cfg.MaxMetadata {
			err = fault.As(store.ErrInvalid, "cannot settle; got meta of %d bytes for lease %d; want at most %d", len(settlements[i].Meta), i, s.cfg.MaxMetadata)
		}
		if err != nil {
			s.writeFault(w, "settle", err)
			return out, false
		}
	}
	answers, err := inTurns(r.Context(), s.gate, settlements, s.guardedSettle)
	if err != nil {
		s.writeFault(w, "settle", err)
		return out, false
	}
	held.keep(int64(len(answers)) * perAnswer)
	out = wire.Answers{Answers: make([]string, len(answers))}
	for i, a := range answers {
		out.Answers[i] = a.String()
		s.countSettled(settlements[i].Outcome, a)
	}
	return out, true
}

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
	again := e.Lease(l.Token)
	again.URL, again.Crawl = u.URL, u.Crawl
	return again, nil
}
