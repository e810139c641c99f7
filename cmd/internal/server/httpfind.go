package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// What operators select: URLs to list, requeue, drop or forget, and URLs that are excluded.

// queryOf reads a selection.
func queryOf(s *wire.Selection) (frontier.Query, error) {
	q := frontier.Query{Crawl: s.Crawl, Queue: s.Queue, Client: s.Client}
	now := time.Now()
	for _, t := range []struct {
		name string
		text wire.Moment
		to   *time.Time
	}{{"before", s.Before, &q.Before}, {"after", s.After, &q.After}, {"fetched_before", s.FetchedBefore, &q.FetchedBefore}, {"fetched_after", s.FetchedAfter, &q.FetchedAfter}, {"leased_before", s.LeasedBefore, &q.LeasedBefore}} {
		var err error
		if *t.to, err = t.text.At(now); err != nil {
			return q, fault.As(store.ErrInvalid, "cannot select URLs by %s: %w", t.name, err)
		}
	}
	if q.Crawl != "*" {
		q.Crawl = crawlName(q.Crawl)
	}
	for _, state := range s.States {
		if !slices.Contains(frontier.QueryStates(), frontier.QueryState(state)) {
			return q, fault.As(store.ErrInvalid, "cannot select URLs; got state %.20q; want queued, scheduled, leased, done or dropped", state)
		}
		q.States = append(q.States, frontier.QueryState(state))
	}
	for _, reason := range s.Reasons {
		q.Reasons = append(q.Reasons, frontier.Reason(reason))
	}
	if len(s.Match) == 0 {
		return q, nil
	}
	var err error
	if q.URLs, err = canon.ParseURLSet([]byte(strings.Join(s.Match, "\n"))); err == nil {
		err = q.URLs.Check()
	}
	if err != nil {
		err = fault.As(store.ErrInvalid, "cannot select URLs: %w", err)
	}
	return q, err
}

// selectionOf reads a selection, and the limit or 0, from the parameters of GET /v1/urls, which were checked.
func selectionOf(q url.Values) (s wire.Selection, limit int64) {
	s = wire.Selection{Crawl: q.Get("crawl"), Queue: q.Get("queue"), Match: q["match"]}
	list := func(name string) (all []string) {
		for _, text := range q[name] {
			all = append(all, strings.Split(text, ",")...)
		}
		return all
	}
	s.States, s.Reasons = list("state"), list("reason")
	moment := func(name string) wire.Moment { return wire.Moment(q.Get(name)) }
	s.Before, s.After, s.FetchedBefore, s.FetchedAfter = moment("before"), moment("after"), moment("fetched_before"), moment("fetched_after")
	s.Client, s.LeasedBefore = q.Get("client"), moment("leased_before")
	limit, _ = strconv.ParseInt(q.Get("limit"), 10, 64)
	return s, limit
}

// getURLs lists the URLs that a selection names, one a line, or counts them.
func (s *httpAPI) getURLs(w http.ResponseWriter, r *http.Request) {
	selection, limit := selectionOf(r.URL.Query())
	query, err := queryOf(&selection)
	if err != nil {
		s.writeFault(w, "list URLs", err)
		return
	}
	each := func(ctx context.Context, do func(*frontier.Entry) error) (n int64, err error) {
		for e, err := range s.f.Find(ctx, query) {
			if err == nil {
				err = do(&e)
			}
			if n++; err != nil || n == limit {
				return n, err
			}
		}
		return n, nil
	}
	if r.URL.Query().Has("count") {
		ctx, done := withEnd(r.Context(), s.draining)
		defer done()
		n, err := each(ctx, func(*frontier.Entry) error { return nil })
		s.answer(w, "count URLs", wire.Changed{URLs: n}, err)
		return
	}
	w.Header().Set("Content-Type", jsonLines[0])
	s.stream(w, r, "list URLs", func(ctx context.Context, out io.Writer) error {
		now := time.Now()
		_, err := each(ctx, func(e *frontier.Entry) error {
			line, err := encode(foundURL(e, now))
			if err == nil {
				_, err = out.Write(line)
			}
			return err
		})
		return err
	})
}

func foundURL(e *frontier.Entry, now time.Time) *wire.FoundURL {
	u := &wire.FoundURL{URL: e.URL, URLBytes: wire.BytesOf(e.URL), Crawl: e.Crawl, Queue: e.Entry.Queue, State: string(e.StateAt(now)), Reason: string(e.Reason), Status: e.Status,
		Key: hex.EncodeToString(e.Key[:]), Priority: e.Priority, Depth: e.Depth, Discriminator: e.Discriminator, Attempts: e.Attempts,
		Created: e.Created, Fetched: e.Fetched, Expires: e.Expires, Leased: e.Leased, Client: e.Client}
	if u.Metadata = wireMetadata(e.Meta); u.Metadata == nil {
		u.Meta = e.Meta
	}
	if u.State == string(frontier.StateScheduled) {
		u.Due = e.Due
	}
	if u.URLBytes != nil {
		u.URL = wireURL(e.URL)
	}
	return u
}

// postChange requeues, drops or forgets the URLs that a selection names.
func (s *httpAPI) postChange(ctx context.Context, body *wire.ChangeRequest) (is wire.Changed, err error) {
	query, err := queryOf(&body.Select)
	if err == nil && query.All() != body.All {
		err = fault.As(store.ErrInvalid, "cannot change URLs; name a queue, states, reasons, times, a client or rules that match them, or add --all (all, over HTTP) for a whole crawl")
	}
	if err == nil && (query.Crawl == frontier.OwnCrawl || body.All && query.Crawl == "*") {
		err = fault.As(store.ErrInvalid, "cannot change URLs of crawl %q; all is for the URLs of one crawl", query.Crawl)
	}
	if err != nil {
		return is, err
	}
	ctx, done := withEnd(ctx, s.draining)
	defer done()
	if is.URLs, is.Excluded, err = s.f.Change(ctx, query, frontier.Action(body.Do)); err == nil {
		s.log.Info("changed URLs", "do", body.Do, "crawl", query.Crawl, "urls", is.URLs)
		if body.Do == string(frontier.ActionRequeue) && is.URLs > 0 && query.Crawl != "*" {
			is.Full, err = s.f.Full(ctx, query.Crawl, query.Queue)
		}
	} else if is.URLs > 0 {
		s.log.Warn("changed some of the URLs", "do", body.Do, "crawl", query.Crawl, "urls", is.URLs)
	}
	return is, err
}

// getExclusions lists the rules of a crawl, or of all.
func (s *httpAPI) getExclusions(ctx context.Context, q url.Values) (a wire.Exclusions, err error) {
	crawl := q.Get("crawl")
	if crawl != "*" {
		crawl = crawlName(crawl)
	}
	a.Exclusions, err = s.f.Exclusions(ctx, crawl)
	return a, err
}

// forgetWait bounds how long an exclusion waits for the queued URLs that are forgotten, to say how many they are. On a shared store it takes
// 6 s until all daemons know the rule.
const forgetWait = 10 * time.Second

// forgotten counts the queued URLs of a crawl, or with "*" of all, that were forgotten by some rules: others may be added meanwhile.
func (s *httpAPI) forgotten(crawl string, rules []string) (n int64) {
	of := make(map[string]bool, len(rules))
	for _, rule := range rules {
		of[strings.TrimSpace(rule)] = true
	}
	for r := range s.f.own.Refusals() {
		if r.Dropped && r.Reason == frontier.ReasonExcluded && (crawl == "*" || r.Crawl == crawl) && of[r.Rule] {
			n += r.Count
		}
	}
	return n
}

// postExclusions adds rules and takes rules back.
func (s *httpAPI) postExclusions(ctx context.Context, body *wire.ExclusionRequest) (a wire.Exclusions, err error) {
	crawl := "*"
	switch {
	case body.All == (body.Crawl != ""):
		err = fault.As(store.ErrInvalid, "cannot change exclusions; name a crawl, or add --all (all, over HTTP) for every crawl")
	case len(body.Add)+len(body.Remove) == 0:
		err = fault.As(store.ErrInvalid, "cannot change exclusions; got no rule; want some in add or in remove")
	case !body.All:
		crawl, err = oneCrawl(body.Crawl)
	}
	if err != nil {
		return a, err
	}
	before := s.forgotten(crawl, body.Add)
	err = s.inTurn(ctx, callUnits+len(body.Add)+len(body.Remove), func(ctx context.Context) (err error) {
		if a.Removed, err = s.f.ChangeExclusions(ctx, crawl, body.Remove, false); err == nil {
			a.Added, err = s.f.ChangeExclusions(ctx, crawl, body.Add, true)
		}
		return err
	})
	if err == nil && len(body.Add) > 0 {
		waiting, cancel := context.WithTimeout(ctx, forgetWait)
		waiting, done := withEnd(waiting, s.draining)
		if errWait := s.f.own.WaitExcluded(waiting); errWait != nil { // the rules hold, and what is still queued is forgotten when it is taken
			a.Forgetting = true
			if waiting.Err() == nil { // it may be of another crawl
				s.log.Warn("cannot forget queued URLs that are excluded", "error", errWait)
			}
		}
		done()
		cancel()
		a.Forgotten = max(s.forgotten(crawl, body.Add)-before, 0) // a crawl that is forgotten loses its counts
	}
	if err == nil {
		a.Exclusions, err = s.f.Exclusions(ctx, crawl)
	}
	return a, err
}

// whyText sums up in a sentence the state of a URL and why it waits.
func whyText(e *wire.Explanation, entry *frontier.Entry) string {
	known, q := e.Known, e.Holds
	switch {
	case e.Error != nil:
		return "No crawl takes it: " + e.Error.Message + "."
	case known == nil && e.Excluded != "":
		return fmt.Sprintf("It is excluded by %s: an offer of it is refused, and if it was queued it was forgotten.", e.Excluded)
	case known == nil && e.Verdict == wire.Refused:
		return fmt.Sprintf("An offer of it is refused: %s.", e.Refusal)
	case known == nil:
		return "It was never offered to this crawl, or forgotten: an offer of it is new."
	}
	switch known.State {
	case "queued":
		text := "It is queued"
		if e.Excluded != "" {
			return text + fmt.Sprintf(", and excluded by %s: it will be forgotten instead of leased.", e.Excluded)
		}
		if known.Due.After(time.Now()) {
			text += ", due at " + timeText(known.Due)
		}
		return text + waitText(q)
	case "leased":
		if !known.Expires.After(time.Now()) {
			return fmt.Sprintf("It was leased to a fetcher for the %s time, and the lease ran out at %s without a result: it is handed out again as the next URL of its queue%s",
				ordinal(known.Attempts), timeText(known.Expires), waitText(q))
		}
		return fmt.Sprintf("It is leased to a fetcher, for the %s time.", ordinal(known.Attempts))
	case "done":
		if entry.RedirectedTo != "" {
			return fmt.Sprintf("It is done: it redirected to %s. An offer of it is a duplicate.", entry.RedirectedTo)
		}
		if entry.Redirected {
			return "It is done: it redirected to another page. An offer of it is a duplicate."
		}
		return "It is done: an offer of it is a duplicate."
	case "dropped":
		text := "It was dropped"
		if known.Reason != "" {
			text += ": " + known.Reason
		}
		if known.Status > 0 {
			text += fmt.Sprintf(" (last status %d)", known.Status)
		}
		if e.Excluded != "" {
			return text + fmt.Sprintf("; it is excluded by %s, so nothing queues it again until that is taken back.", e.Excluded)
		}
		return text + "; requeue it, or offer it with force, to have it fetched."
	}
	return "It was seen, and nothing else is kept of it: it is done, was dropped, or was only recorded. An offer of it is a duplicate."
}

// waitText ends a sentence about a URL that waits in a queue, nil if that is not known.
func waitText(q *wire.Queue) string {
	if q == nil {
		return "."
	}
	text := fmt.Sprintf(", and its queue %s is %s", q.Queue, q.State)
	if q.Reason != "" {
		text += " (" + q.Reason + ")"
	}
	return text + fmt.Sprintf("; %d URLs wait in it.", q.Held-q.InFlight)
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		suffix = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
		if suffix == "" {
			suffix = "th"
		}
	}
	return strconv.Itoa(n) + suffix
}

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
		e.Why = whyText(&e, &entry)
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
	e.Why = whyText(&e, &entry)
	return e, nil
}

// addWhy adds what an offer of the URL would be answered, and what holds it.
func (s *httpAPI) addWhy(ctx context.Context, e *wire.Explanation, u frontier.Link) error {
	e.Excluded, _ = s.f.ExcludedBy(u.Crawl, u.URL)
	if e.Trap != nil && s.cfg.Evidence.Exclude(e.Canonical) {
		e.Excluded = "--traps unlisted, as its kind of pages asks for noindex and nofollow (POST /v1/traps lifts " + e.Trap.Template + ")"
	}
	u.SkipFirst = true
	results, err := s.f.Peek(ctx, []frontier.Link{u})
	if err != nil {
		return err
	}
	r := &results[0]
	if r.Status == frontier.StatusNew {
		full, err := s.f.Full(ctx, u.Crawl, r.Queue)
		if err != nil {
			return err
		}
		if full {
			r.Status, r.Reason = frontier.StatusRefused, frontier.ReasonFull
		}
	}
	if e.Verdict = r.Status.String(); r.Status == frontier.StatusRefused {
		e.Refusal = string(r.Reason)
	}
	if e.Known == nil || e.Known.State != stateNames[store.Queued] && (e.Known.State != stateNames[store.Leased] || e.Known.Expires.After(time.Now())) {
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
	if of, ok := s.cfg.Evidence.Of(is.Canonical); ok {
		e.Trap = &of
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
