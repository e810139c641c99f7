package server

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
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
	if q.URLs, err = canon.ParseURLSet([]byte(strings.Join(s.Match, "\n"))); err != nil {
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
	q := r.URL.Query()
	selection, limit := selectionOf(q)
	query, err := queryOf(&selection)
	if err != nil {
		s.writeFault(w, "list URLs", err)
		return
	}
	ctx, done := s.untilDrained(r.Context())
	defer done()
	counts := q.Has("count")
	answer := &begun{w: w}
	out := bufio.NewWriterSize(answer, 64<<10)
	n, now := int64(0), time.Now()
	if !counts {
		w.Header().Set("Content-Type", jsonLines[0])
	}
	for e, errNext := range s.f.Find(ctx, query) {
		if err = errNext; err != nil {
			break
		}
		if !counts {
			var line []byte
			if line, err = encode(foundURL(&e, now)); err == nil {
				_, err = out.Write(line)
			}
		}
		if n++; err != nil || n == limit {
			break
		}
	}
	if err == nil && counts {
		w.Header().Del("Content-Type")
		writeJSON(w, http.StatusOK, wire.Changed{URLs: n})
		return
	}
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil && !answer.yes:
		w.WriteHeader(http.StatusOK) // there are none
	case err == nil:
	case !answer.yes:
		w.Header().Del("Content-Type")
		s.writeFault(w, "list URLs", err)
	default:
		panic(http.ErrAbortHandler) // so that the client gets no whole answer
	}
}

func foundURL(e *frontier.Entry, now time.Time) *wire.FoundURL {
	u := &wire.FoundURL{URL: e.URL, URLBytes: wire.BytesOf(e.URL), Crawl: e.Crawl, Queue: e.Entry.Queue, State: string(e.StateAt(now)), Reason: string(e.Reason),
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
func (s *httpAPI) postChange(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.ChangeRequest](s, w, r)
	if !ok {
		return
	}
	query, err := queryOf(&body.Select)
	if err == nil && query.All() != body.All {
		err = fault.As(store.ErrInvalid, "cannot change URLs; name a queue, states, reasons, times, a client or rules that match them, or set all for a whole crawl")
	}
	if err == nil && (query.Crawl == frontier.OwnCrawl || body.All && query.Crawl == "*") {
		err = fault.As(store.ErrInvalid, "cannot change URLs of crawl %q; all is for the URLs of one crawl", query.Crawl)
	}
	var n int64
	if err == nil {
		ctx, done := s.untilDrained(r.Context())
		defer done()
		n, err = s.f.Change(ctx, query, frontier.Action(body.Do))
	}
	if err != nil {
		s.writeFault(w, fmt.Sprintf("%s URLs, after %d,", body.Do, n), err)
		return
	}
	s.log.Info("changed URLs", "do", body.Do, "crawl", query.Crawl, "urls", n)
	writeJSON(w, http.StatusOK, wire.Changed{URLs: n})
}

// untilDrained returns a context that ends when the server drains, too.
func (s *httpAPI) untilDrained(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	go func() {
		select {
		case <-s.draining:
			cancel()
		case <-stop:
		}
	}()
	return ctx, func() {
		close(stop)
		cancel()
	}
}

// getExclusions lists the rules of a crawl, or of all.
func (s *httpAPI) getExclusions(w http.ResponseWriter, r *http.Request) {
	crawl := r.URL.Query().Get("crawl")
	if crawl != "*" {
		crawl = crawlName(crawl)
	}
	list, err := s.f.Exclusions(r.Context(), crawl)
	if err != nil {
		s.writeFault(w, "list exclusions", err)
		return
	}
	writeJSON(w, http.StatusOK, wire.Exclusions{Exclusions: list})
}

// postExclusions adds rules and takes rules back.
func (s *httpAPI) postExclusions(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.ExclusionRequest](s, w, r)
	if !ok {
		return
	}
	crawl, err := "*", error(nil)
	switch {
	case body.All == (body.Crawl != ""):
		err = fault.As(store.ErrInvalid, "cannot change exclusions; name a crawl, or set all for every crawl")
	case len(body.Add)+len(body.Remove) == 0:
		err = fault.As(store.ErrInvalid, "cannot change exclusions; got no rule; want some in add or in remove")
	case !body.All:
		crawl, err = oneCrawl(body.Crawl)
	}
	var a wire.Exclusions
	if err == nil {
		err = s.inTurn(r.Context(), callUnits+len(body.Add)+len(body.Remove), func(ctx context.Context) (err error) {
			if a.Removed, err = s.f.ChangeExclusions(ctx, crawl, body.Remove, false); err == nil {
				a.Added, err = s.f.ChangeExclusions(ctx, crawl, body.Add, true)
			}
			return err
		})
	}
	if err == nil {
		a.Exclusions, err = s.f.Exclusions(r.Context(), crawl)
	}
	if err != nil {
		s.writeFault(w, "change exclusions", err)
		return
	}
	writeJSON(w, http.StatusOK, a)
}

// whyText says in a sentence what became of a URL, and what it waits for.
func whyText(e *wire.Explanation) string {
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
		if q == nil {
			return text + "."
		}
		text += fmt.Sprintf(", and its queue %s is %s", q.Queue, q.State)
		if q.Reason != "" {
			text += " (" + q.Reason + ")"
		}
		return text + fmt.Sprintf("; %d URLs wait in it.", q.Held-q.InFlight)
	case "leased":
		return fmt.Sprintf("It is leased to a fetcher, for the %s time.", ordinal(known.Attempts))
	case "done":
		return "It is done: an offer of it is a duplicate."
	case "dropped":
		text := "It was dropped"
		if known.Reason != "" {
			text += ": " + known.Reason
		}
		return text + "; requeue it, or offer it with force, to have it fetched."
	}
	return "It was seen, and nothing else is kept of it: it is done, was dropped, or was only recorded. An offer of it is a duplicate."
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
