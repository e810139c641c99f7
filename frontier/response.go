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

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/whatwg"
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
//	a URL that net/http can't send   Redirect to a spelling that it can, or Drop
//
// The last are those that it can't parse, as "http://example.com/100%-sale", and those of ftp. Nothing was sent, so they don't count
// against the host ([Options.FailingAfter]). Any other error counts, also that of a context of the fetch alone: the host was too slow for it.
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
	if resp != nil && resp.Request != nil && resp.Request.Response != nil {
		return false, nil, fmt.Errorf("cannot settle %q: its client followed a redirect by itself; want a CheckRedirect that returns http.ErrUseLastResponse", l.URL)
	}
	var s Settlement
	var target string
	if resp == nil {
		s.Outcome, target = unanswered(ctx, l, fetchErr)
	} else if code := resp.StatusCode; code/100 == 2 || code == http.StatusNotModified {
		return true, nil, nil
	} else {
		s, target = answered(resp)
	}
	s.Lease = l
	settle := context.WithoutCancel(ctx)
	if target != "" {
		r, err := f.Redirect(settle, l, target)
		if errors.Is(err, ErrStale) {
			err = nil
		}
		return false, r.Follow, err
	}
	_, err = f.Settle(settle, []Settlement{s})
	return false, nil, err
}

// answered says what becomes of a lease whose response is no page, or where it redirects to. It closes the body.
func answered(resp *http.Response) (s Settlement, target string) {
	if resp.Body != nil {
		// What is read of a short body lets the connection be used again.
		_, _ = io.CopyN(io.Discard, resp.Body, 16<<10)
		_ = resp.Body.Close()
	}
	code := resp.StatusCode
	s = Settlement{Outcome: Drop, Fetched: &Fetched{Status: code}}
	switch {
	case code/100 == 3:
		target = strings.TrimSpace(resp.Header.Get("Location"))
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		s.Outcome, s.At = Defer, retryAfter(resp, time.Now())
		s.BlockQueue = s.At
	case code/100 == 5 || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		s.Outcome = Retry
	}
	return s, target
}

// unanswered decides what becomes of a lease whose fetch had no response, or returns the URL to go on with. net/http has no types for some
// of these errors, so their texts tell; TestSettleResponseOfClientErrors gets them from its client.
func unanswered(ctx context.Context, l *Lease, err error) (o Outcome, target string) {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return Release, ""
	}
	var failed *url.Error
	if !errors.As(err, &failed) || failed.Err == nil {
		return Retry, ""
	}
	text := failed.Err.Error()
	if location, ok := strings.CutPrefix(text, "failed to parse Location header "); ok { // the client reads it before it asks CheckRedirect
		if u, err := url.Parse(l.URL); err != nil || u.String() != failed.URL {
			return Retry, "" // the header of another URL, to which the client followed a redirect
		}
		location, _ = strconv.QuotedPrefix(location)
		target, _ = strconv.Unquote(location)
		return Retry, target
	}
	if failed.Op == "parse" || strings.HasPrefix(text, "unsupported protocol scheme") || strings.HasSuffix(text, "no Host in request URL") {
		switch target = requestable(l.URL); target {
		case "":
			return Drop, ""
		case l.URL: // it was another URL
		default:
			return Retry, target
		}
	}
	return Retry, ""
}

// requestable spells a URL as a browser does, and as net/http can parse it, which refuses a "%" that begins no escape.
// "" stands for a URL that it can't request.
func requestable(raw string) string {
	form, err := canon.WHATWG().Canonicalize(raw)
	if err != nil {
		return ""
	}
	form = whatwg.MapEscapes(form, "%25", func(escape string, _ byte) string { return escape })
	if u, err := url.Parse(form); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return form
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
