package frontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxRetryAfter bounds how long a server can keep its queue from being served.
	maxRetryAfter = 24 * time.Hour
	// tooManyPause is how long a queue is blocked by a 429 without Retry-After.
	tooManyPause = time.Minute
)

// SettleResponse settles a lease by what an HTTP client returned for its URL, unless that is
// a page to read:
//
//	resp, err := client.Do(req) // of lease.URL
//	page, follow, err := frontier.SettleResponse(ctx, f, lease, resp, err)
//	...
//	if page {
//		links, err := readLinks(resp) // and close its body
//		if err != nil { // as if there had been no response
//			_, _, err = frontier.SettleResponse(ctx, f, lease, nil, err)
//			...
//		}
//		f.AddBatch(ctx, frontier.Links(lease, links...))
//		f.Done(ctx, lease)
//	}
//
// What becomes of the lease:
//
//	2xx, 304                         page is true, and the lease is the caller's to settle
//	3xx with a Location              Redirect: if follow is not nil, fetch its URL now, under that lease
//	429, 503 with Retry-After        Defer until then, and the whole queue waits until then, at most 24 h
//	429                              the same, as if it asked for 1 min
//	503                              Defer after the back-off
//	408, 425, other 5xx, no response Retry after the back-off
//	anything else                    Drop
//	no response, since ctx ended     Release
//
// A URL that failed too often ([Options.Attempts]) is dropped; [Link.Force] queues it again. The
// status of a response that is no page is reported to [Options.OnFetched].
//
// Unless page is true, SettleResponse closes the body. It settles also after ctx ended, as Done and
// AddBatch do with context.WithoutCancel(ctx). If the lease is over (ErrStale), the error is nil and the
// lease does not change; the target of a redirect may have been added. Other errors are those of f.
//
// The client must not follow redirects by itself: its CheckRedirect returns
// http.ErrUseLastResponse. If it followed one, SettleResponse returns an error, and neither
// settles the lease nor closes the body.
func SettleResponse(ctx context.Context, f Interface, l *Lease, resp *http.Response, fetchErr error) (page bool, follow *Lease, err error) {
	if l == nil {
		return false, nil, errNoLease
	}
	settle := context.WithoutCancel(ctx)
	if resp == nil {
		s := Settlement{Lease: l, Outcome: Retry}
		if ctx.Err() != nil && errors.Is(fetchErr, ctx.Err()) {
			s.Outcome = Release
		}
		_, err := f.Settle(settle, []Settlement{s})
		return false, nil, err
	}
	if resp.Request != nil && resp.Request.Response != nil {
		return false, nil, fmt.Errorf("cannot settle %q: its client followed a redirect by itself; want a CheckRedirect that returns http.ErrUseLastResponse", l.URL)
	}
	code := resp.StatusCode
	if code/100 == 2 || code == http.StatusNotModified {
		return true, nil, nil
	}
	// What is read of a short body lets the connection be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, 16<<10)
	_ = resp.Body.Close()
	if target := location(resp); target != "" {
		r, err := f.Redirect(settle, l, target)
		if errors.Is(err, ErrStale) {
			err = nil
		}
		return false, r.Follow, err
	}
	s := Settlement{Lease: l, Outcome: Drop, Fetched: &Fetched{Status: code}}
	switch {
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		s.Outcome, s.At = Defer, retryAfter(resp, time.Now())
		s.BlockQueue = s.At
	case code/100 == 5 || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		s.Outcome = Retry
	}
	_, err = f.Settle(settle, []Settlement{s})
	return false, nil, err
}

// location returns where a response redirects to, "" if nowhere.
func location(resp *http.Response) string {
	text := strings.TrimSpace(resp.Header.Get("Location"))
	if resp.StatusCode/100 != 3 || text == "" {
		return ""
	}
	var base *url.URL
	if resp.Request != nil {
		base = resp.Request.URL
	}
	return resolve(base, text)
}

// retryAfter returns until when a server asks to be left alone, zero if it does not ask.
func retryAfter(resp *http.Response, now time.Time) time.Time {
	text := resp.Header.Get("Retry-After")
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		date, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			date = now
		}
		wait = at.Sub(date) // by the server's own clock
	}
	if wait <= 0 && resp.StatusCode == http.StatusTooManyRequests {
		wait = tooManyPause
	}
	if wait <= 0 {
		return time.Time{}
	}
	return now.Add(min(wait, maxRetryAfter))
}

// resolve returns a reference found at a base, which may be nil, as an absolute URL. One
// that is absolute stays as it was found, and so does one that can't be resolved: it will
// be refused.
func resolve(base *url.URL, ref string) string {
	if hasScheme(ref) || base == nil {
		return ref
	}
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil {
		return ref
	}
	return u.String()
}

// hasScheme reports whether a reference begins with a scheme, and so is absolute.
func hasScheme(ref string) bool {
	ref = strings.TrimLeft(ref, " \t\r\n")
	for i := range len(ref) {
		switch c := ref[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= ref[i] && ref[i] <= '9' || strings.IndexByte("+-.", ref[i]) >= 0):
		default:
			return i > 0 && ref[i] == ':'
		}
	}
	return false
}
