package main

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/declared"
)

// outcomeOf returns the outcome of a page whose visit failed, by the status of its answer, or 0 for
// no answer. A temporary failure is tried again. A permanent answer of the server is done. A page
// that colly itself refuses, by its filters, is given up.
func outcomeOf(status int, err error) frontier.Outcome {
	for _, refused := range []error{colly.ErrForbiddenDomain, colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch,
		colly.ErrRobotsTxtBlocked, colly.ErrMaxDepth, colly.ErrMissingURL} {
		if errors.Is(err, refused) {
			return frontier.Drop
		}
	}
	if status == 0 || status == http.StatusTooManyRequests || status >= 500 {
		return frontier.Retry
	}
	return frontier.Done
}

// settlementOf adds when to try again, if the server said.
func settlementOf(l *frontier.Lease, r *colly.Response, err error) frontier.Settlement {
	status := 0
	if r != nil {
		status = r.StatusCode
	}
	s := frontier.Settlement{Lease: l, Outcome: outcomeOf(status, err)}
	if s.Outcome != frontier.Retry || r == nil || r.Headers == nil {
		return s
	}
	now, text := time.Now(), r.Headers.Get("Retry-After")
	at, _ := http.ParseTime(text)
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		at = now.Add(time.Duration(seconds) * time.Second)
	}
	if at.After(now) {
		s.At = now.Add(min(at.Sub(now), 24*time.Hour))
		s.BlockQueue = s.At
	}
	return s
}

// fetchedOf returns what the rules are judged by: the content and what the page declares of
// its duplicates. It is nil if there was no response.
func fetchedOf(r *colly.Response) *frontier.Fetched {
	if r == nil || r.Headers == nil || r.StatusCode == 0 {
		return nil
	}
	sum := sha1.Sum(r.Body)
	f := &frontier.Fetched{URL: r.Request.URL.String(), Status: r.StatusCode, Digest: "sha1:" + hex.EncodeToString(sum[:])}
	page := declared.Of(f.URL, *r.Headers, r.Body)
	f.Canonical, f.NoVarySearch, f.CleanParam, f.Unlisted = page.Canonical, page.NoVarySearch, page.CleanParam, page.Unlisted
	f.Masked = declared.Masked(f.URL, r.Headers.Get("Content-Type"), r.Body)
	return f
}
