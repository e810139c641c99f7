package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

var stateNames = map[store.State]string{
	store.SeenOnly: "seen", store.Queued: "queued", store.Leased: "leased", store.Done: "done", store.Dropped: "dropped",
}

// getExplain answers how a URL is canonicalized, and what the store has of it. The answer to a
// refused URL is a wire.Explanation as well.
func (s *httpAPI) getExplain(ctx context.Context, q url.Values) (e wire.Explanation, err error) {
	u := frontier.Link{URL: q.Get("url"), Crawl: crawlName(q.Get("crawl")), Queue: q.Get("queue"), Discriminator: q.Get("discriminator")}
	if len(u.URL) > s.cfg.MaxURL {
		return e, refusedAs(http.StatusBadRequest, "too-long", fmt.Sprintf("cannot explain; got a URL of %d bytes; want at most %d", len(u.URL), s.cfg.MaxURL))
	}
	entry, err := s.f.Lookup(ctx, u)
	if entry.Reason == frontier.ReasonCrawl {
		return e, refusedAs(http.StatusBadRequest, string(entry.Reason), "no crawl can have this name")
	}
	e = s.explain(u, &entry, err)
	switch {
	case e.Error != nil:
		e.Why = whyText(&e)
		return e, nil
	case err == nil:
		e.Known = &wire.Known{State: stateNames[entry.State], First: entry.URL, FirstBytes: wire.BytesOf(entry.URL), Queue: entry.Entry.Queue,
			Due: entry.Due, Created: entry.Created, Expires: entry.Expires, Attempts: entry.Attempts,
			Failures: entry.Failures, Deferrals: entry.Deferrals, Releases: entry.Releases, Expiries: entry.Expiries,
			Status: entry.Status, Reason: string(entry.Reason)}
		if entry.AsCanonical {
			e.Known.Respelled = "canonical"
		} else if entry.Respelled {
			e.Known.Respelled = "offered"
		}
	case !errors.Is(err, store.ErrNotFound):
		return e, err
	}
	if err := s.addWhy(ctx, &e, u); err != nil && !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	e.Why = whyText(&e)
	return e, nil
}

// addWhy adds what an offer of the URL would be answered, and what holds it.
func (s *httpAPI) addWhy(ctx context.Context, e *wire.Explanation, u frontier.Link) error {
	e.Excluded, _ = s.f.ExcludedBy(u.Crawl, e.Canonical)
	u.SkipFirst = true
	results, err := s.f.Peek(ctx, []frontier.Link{u})
	if err != nil {
		return err
	}
	if e.Verdict = results[0].Status.String(); results[0].Status == frontier.StatusRefused {
		e.Refusal = string(results[0].Reason)
	}
	if e.Known == nil || e.Known.State != stateNames[store.Queued] {
		return nil
	}
	q, err := s.f.Queue(ctx, u.Crawl, e.Known.Queue)
	if err == nil {
		var holds wire.Queue
		holds, err = s.describer(ctx)(&q)
		e.Holds = &holds
	}
	return err
}

// explain returns how a URL is canonicalized, given the results of Lookup.
func (s *httpAPI) explain(u frontier.Link, is *frontier.Entry, err error) wire.Explanation {
	p := s.profileOf(u.Crawl)
	e := wire.Explanation{Input: u.URL, Canonical: is.Canonical, Queue: is.Queue, Profile: p.String(), Changes: []wire.Change{}}
	if is.Reason != "" && err != nil { // else it is why the URL was dropped
		e.Error = &wire.Fault{Code: string(is.Reason), Message: reasonText(is.Reason)}
		if cause := errors.Unwrap(err); cause != nil && !errors.Is(err, store.ErrInvalid) {
			e.Error.Message = cause.Error()
		}
		return e
	}
	e.Key = hex.EncodeToString(is.Key[:])
	if s.cfg.Yield != nil {
		if of, ok := s.cfg.Yield.Of(is.Canonical); ok {
			e.Trap = &of
		}
	}
	steps, err := p.Explain(u.URL)
	if err == nil && steps.Canonical == is.Canonical { // not in an exact crawl
		for _, st := range steps.Steps {
			e.Changes = append(e.Changes, wire.Change{Rule: string(st.Rule), Before: st.Before, After: st.After, Scope: st.Scope})
		}
	}
	return e
}

// rulesBetween names the rules that changed either spelling, in order, each
// once.
func rulesBetween(p *canon.Profile, spellings ...string) []string {
	var names []string
	had := make(map[canon.Rule]bool)
	for _, raw := range spellings {
		e, err := p.Explain(raw)
		if err != nil {
			continue
		}
		for _, st := range e.Steps {
			if !had[st.Rule] {
				had[st.Rule] = true
				names = append(names, string(st.Rule))
			}
		}
	}
	return names
}
