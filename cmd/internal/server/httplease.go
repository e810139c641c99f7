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
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// maxLease bounds a lease.
const maxLease = 7 * 24 * time.Hour

func leaseRequestOf(b *wire.LeaseRequest) frontier.LeaseRequest {
	req := frontier.LeaseRequest{Crawl: crawlName(b.Crawl), Queue: b.Queue, Client: b.Client, Max: min(max(b.Max, 1), takeAtOnce), MaxQueues: b.MaxQueues,
		MaxPerQueue: b.MaxPerQueue, MaxInFlight: b.MaxPerQueue,
		Lease: seconds(b.LeaseSeconds, maxLease)}
	if req.Lease == 0 {
		req.Lease = defaultLease
	}
	if b.MaxInFlight > 0 {
		req.MaxInFlight = b.MaxInFlight
	}
	if b.DelaySeconds != nil {
		req.Delay = delayOf(*b.DelaySeconds)
	}
	return req
}

func (s *httpAPI) postLease(w http.ResponseWriter, r *http.Request) {
	body, read, ok := readJSON[wire.LeaseRequest](s, w, r)
	read.done()
	if !ok {
		return
	}
	began := time.Now()
	answer, held, err := s.lease(r.Context(), &body, leaseRequestOf(&body))
	defer held.done()
	if err != nil {
		s.writeFault(w, "lease", err)
		return
	}
	s.count.getCalls.Inc()
	s.countLeases(r.Context(), len(answer.Leases))
	if body.WaitSeconds == 0 {
		s.count.lease.Observe(time.Since(began).Seconds())
	}
	writeJSON(w, http.StatusOK, answer)
}

// lease leases. What it holds is the caller's to give back, whatever it returns.
func (s *httpAPI) lease(ctx context.Context, b *wire.LeaseRequest, req frontier.LeaseRequest) (answer wire.Leases, held *holding, err error) {
	if held, err = s.payForLeases(ctx, &req, jsonCopies); err != nil {
		return answer, held, err
	}
	leases, idle, err := s.leaseNow(ctx, req)
	held.keep(costOfLeases(leases, jsonCopies))
	if err == nil && len(leases) == 0 && b.WaitSeconds > 0 {
		now := idle
		if leases, idle, held, err = s.leaseLater(ctx, b, req); idle.State == store.Served {
			idle = now // the wait may end before the frontier has given a reason
		}
	}
	if err != nil {
		return answer, held, err
	}
	if b.WaitSeconds == 0 || len(leases) == 0 {
		answer.Next = idle.Next
	}
	if len(leases) == 0 {
		answer.State, answer.Finished = idle.State.String(), idle.State == store.Finished
		answer.HoldingQueues, answer.PausedQueues, answer.LimitedQueues, answer.BlockedQueues = idle.Queues, idle.Paused, idle.Limited, idle.Blocked
		answer.FailingQueue = idle.FailingQueue
		if answer.Finished && req.Crawl != "*" {
			st, err := s.f.Stats(ctx, req.Crawl)
			answer.UnknownCrawl = err == nil && st.Seen == 0 && st.Held == 0 // a hint, for want of which no answer fails
		}
	}
	answer.Leases = make([]wire.Lease, len(leases))
	for i, l := range leases {
		answer.Leases[i] = wireLease(l, b.RawMeta)
	}
	return answer, held, nil
}

// leaseLater waits for leases. The frontier leases for all calls that wait, without turns of
// theirs. So the call has its turn afterwards, before its client can ask again.
func (s *httpAPI) leaseLater(ctx context.Context, b *wire.LeaseRequest, req frontier.LeaseRequest) (leases []*frontier.Lease, idle frontier.Idle, held *holding, err error) {
	held = &holding{}
	if err = s.admission.wait(callOf(ctx)); err != nil {
		return nil, idle, held, err
	}
	req.MaxBytes = leaseBytes
	if leases, idle, err = s.leaseWait(ctx, b, req); err != nil || len(leases) == 0 {
		return nil, idle, held, err
	}
	if held, err = s.payLate(ctx, leases); err != nil {
		return nil, idle, held, err
	}
	if err = s.inTurn(ctx, len(leases), func(context.Context) error { return nil }); err != nil {
		s.release(leases)
	}
	return leases, idle, held, err
}

// leaseWait waits for the time of the request, until its client leaves or the server
// drains. If the client has left, leaseWait releases the leases.
func (s *httpAPI) leaseWait(ctx context.Context, b *wire.LeaseRequest, req frontier.LeaseRequest) ([]*frontier.Lease, frontier.Idle, error) {
	limited, cancel := context.WithTimeout(ctx, max(seconds(b.WaitSeconds, s.cfg.MaxWait), time.Millisecond))
	defer cancel()
	waiting, cancel := withEnd(limited, s.draining)
	defer cancel()
	leases, idle, err := s.leaseUnpaused(waiting, req, !b.Stay)
	switch {
	case err == nil || waiting.Err() == nil:
	case s.isDraining():
		err = errDraining
	default:
		err = ctx.Err() // its own end is no error, the client's is
	}
	if len(leases) > 0 && ctx.Err() != nil {
		for _, l := range leases {
			// If this fails the lease runs out by itself.
			_ = s.f.own.Release(context.WithoutCancel(ctx), l)
		}
		return nil, idle, ctx.Err()
	}
	return leases, idle, err
}

// leaseUnpaused is the frontier's LeaseWait, but for the time that this daemon
// alone is paused, which it waits for as well: a client would only ask again.
func (s *httpAPI) leaseUnpaused(ctx context.Context, req frontier.LeaseRequest, untilFinished bool) ([]*frontier.Lease, frontier.Idle, error) {
	for {
		paused, changed := s.pausedHere.look()
		if paused {
			if err := wait(ctx, changed); err != nil {
				return nil, frontier.Idle{State: store.Paused}, err
			}
			continue
		}
		unpaused, cancel := withEnd(ctx, changed)
		leases, idle, err := s.f.LeaseWait(unpaused, req, untilFinished)
		cut := unpaused.Err() != nil
		if cancel(); err == nil || !cut || ctx.Err() != nil {
			return leases, idle, err
		}
	}
}

// seconds is a number of seconds from the wire as a duration, at most max.
func seconds(n float64, max time.Duration) time.Duration {
	return time.Duration(min(n, max.Seconds()) * float64(time.Second))
}

// wireLease puts a lease on the wire, its data as metadata or as it is stored.
func wireLease(l *frontier.Lease, raw bool) wire.Lease {
	out := wire.Lease{Crawl: l.Crawl, Key: hex.EncodeToString(l.Key[:]), Token: strconv.FormatUint(l.Token, 10), Attempts: l.Attempts,
		Failures: l.Failures, Deferrals: l.Deferrals, Releases: l.Releases, Expiries: l.Expiries, URL: l.URL, Queue: l.Queue, Depth: l.Depth, Priority: l.Priority, Expires: l.Expires, Discriminator: l.Discriminator,
		Redirects: l.Redirects, Created: l.Created, URLBytes: wire.BytesOf(l.URL)}
	if raw {
		out.Meta = l.Meta
	} else {
		out.Metadata = wireMetadata(l.Meta)
	}
	return out
}

func wireMetadata(meta []byte) map[string][]string {
	var info frontierpb.URLInfo
	unpackMeta(&info, meta)
	if len(info.Metadata) == 0 {
		return nil
	}
	out := make(map[string][]string, len(info.Metadata))
	for name, list := range info.Metadata {
		out[name] = append([]string{}, list.GetValues()...)
	}
	return out
}

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

// postDone settles what a body says.
func (s *httpAPI) postDone(ctx context.Context, body *wire.Done) (out wire.Answers, err error) {
	settlements := make([]frontier.Settlement, len(body.Leases))
	for i := range body.Leases {
		body.Leases[i].Crawl = cmp.Or(body.Leases[i].Crawl, body.Crawl)
		if settlements[i], err = settlementOf(&body.Leases[i]); err == nil && len(settlements[i].Meta) > s.cfg.MaxMetadata {
			err = fault.As(store.ErrInvalid, "cannot settle; got meta of %d bytes for lease %d; want at most %d", len(settlements[i].Meta), i, s.cfg.MaxMetadata)
		}
		if err != nil {
			return out, err
		}
	}
	answers, err := inTurns(ctx, s.gate, settlements, s.guardedSettle)
	out.Answers = make([]string, len(answers))
	for i, a := range answers { // also those before an error: they are settled
		out.Answers[i] = a.String()
		s.countSettled(settlements[i].Outcome, a)
		if a == frontier.Stale && body.Leases[i].Crawl == "" {
			out.StaleIn = store.DefaultCrawl
		}
	}
	return out, err
}

// postRedirect answers whether the client must follow a redirect now, because its target is
// a variant of the page itself, or whether the target was offered like a link.
func (s *httpAPI) postRedirect(ctx context.Context, body *wire.RedirectRequest) (is wire.Redirection, err error) {
	target := wire.TextOr(body.Target, body.TargetBytes)
	if target == "" {
		return is, fault.As(store.ErrInvalid, `the field "target" is missing`)
	}
	if len(target) > s.cfg.MaxURL {
		return is, refusedAs(http.StatusBadRequest, "too-long", "target too long")
	}
	if err := s.rest(ctx); err != nil {
		return is, err
	}
	s.rateOf(ctx).charge(1)
	settlement, err := settlementOf(&wire.DoneLease{Crawl: crawlName(body.Crawl), Key: body.Key, Token: body.Token})
	if err != nil {
		return is, err
	}
	lease := settlement.Lease // the frontier looks up the rest
	lease.URL, lease.Queue, lease.Discriminator = wire.TextOr(body.URL, body.URLBytes), body.Queue, body.Discriminator
	var answer frontier.Redirection
	err = s.inTurn(ctx, callUnits, func(ctx context.Context) (err error) {
		if err = s.room(); err == nil {
			answer, err = s.f.Redirect(ctx, lease, target)
		}
		return err
	})
	switch {
	case err != nil:
	case answer.Follow != nil:
		follow := wireLease(answer.Follow, body.RawMeta)
		is.Follow = &follow
	default:
		is.Target = &wire.VerdictLine{URL: body.Target, URLBytes: body.TargetBytes}
		fillVerdict(is.Target, &answer.Target)
	}
	return is, err
}
