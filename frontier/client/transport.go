package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

const (
	firstPause = 20 * time.Millisecond // after the first failure, then doubled
	maxPause   = 2 * time.Second
	// maxFault bounds the part of a refusal that is read.
	maxFault = 64 << 10
)

// request is one request to the daemon. Read takes the body of its answer.
type request struct {
	method, path string
	body         []byte
	timeout      time.Duration // beyond the usual 30 s
	read         func(io.Reader) error
}

// try makes a request once. Sent reports whether the daemon may have begun with it.
func (c *Client) try(ctx context.Context, r *request) (sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.timeout+r.timeout)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return false, fault.As(store.ErrInvalid, "cannot ask the daemon: %w", err)
	}
	if c.opt.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opt.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return sent, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return !notBegun(resp.StatusCode), faultOf(resp)
	}
	return true, r.read(resp.Body)
}

// notBegun reports whether a refusal means that nothing of the request was looked at: the
// daemon is busy, or has no room on its disk. Any other may follow a commit, as a
// proxy's 502 or the daemon's word that it doesn't know what became of a step.
func notBegun(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusInsufficientStorage
}

// faultOf reads a refusal. One that isn't the daemon's own, such as a proxy's,
// has its first words.
func faultOf(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // what there is of it
	var fault wire.Error
	if json.Unmarshal(text, &fault) != nil || fault.Error.Code == "" {
		fault.Error = wire.Fault{Code: "http", Message: fmt.Sprintf("%.100s", text)}
	}
	return &StatusError{Status: resp.StatusCode, Code: fault.Error.Code, Message: fault.Error.Message}
}

// persist calls try until it succeeds or fails permanently, with growing pauses,
// as long as patience and the context last and the client isn't closed.
func (c *Client) persist(ctx context.Context, what string, try func(context.Context) error) error {
	var since time.Time // of the first failure: earlier waiting does not count towards Patience
	pause := firstPause
	for {
		err := try(ctx)
		if since.IsZero() {
			since = time.Now()
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !isTemporary(err):
			return fmt.Errorf("cannot %s: %w", what, err)
		case c.opt.Patience >= 0 && time.Since(since) >= c.opt.Patience:
			return fmt.Errorf("cannot %s; got no answer for %v: %w: %w", what, c.opt.Patience, ErrUnavailable, err)
		}
		if err := c.sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
		if pause < maxPause && 2*pause >= maxPause { // once a call, after a few seconds
			c.opt.Logger.Warn("waiting for the daemon", "addr", c.opt.Addr, "to", what, "patience", c.opt.Patience, "error", err)
		}
		pause = min(2*pause, maxPause)
	}
}

// sleep waits, unless ctx ends or the client is closed.
func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing:
		return store.ErrClosed
	}
}

// ask makes a request until it is answered and reads the answer into v. Resent
// reports whether it was sent more than once.
func (c *Client) ask(ctx context.Context, what string, r *request, v any) (resent bool, err error) {
	r.read = func(body io.Reader) error {
		if err := json.NewDecoder(body).Decode(v); err != nil {
			return fmt.Errorf("cannot read answer: %w", err)
		}
		return nil
	}
	before := false // an attempt before this one was sent
	err = c.persist(ctx, what, func(ctx context.Context) error {
		resent = before
		sent, err := c.try(ctx, r)
		before = before || sent
		return err
	})
	return resent, err
}

// post is ask with a body.
func (c *Client) post(ctx context.Context, what, path string, body, answer any) (resent bool, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return false, fault.As(store.ErrInvalid, "cannot %s: %w", what, err)
	}
	return c.ask(ctx, what, &request{method: http.MethodPost, path: path, body: b}, answer)
}

var (
	// ErrUnavailable is returned if the daemon did not answer, or answered that it cannot serve,
	// until Options.Patience was over. The last request may have been carried out.
	ErrUnavailable = errors.New("the daemon is not available")
	// ErrNotCarried is returned, or is in Result.Err of a refused URL, for what package client
	// does not support. Nothing was done.
	ErrNotCarried = errors.New("not supported by package client")
)

// StatusError is a refusal by the daemon. It wraps store.ErrInvalid,
// store.ErrNotFound or frontier.ErrStale where it means one of these.
type StatusError struct {
	Status  int    // of HTTP
	Code    string // a short stable word, such as "invalid"
	Message string
}

// Error returns the daemon's message.
func (e *StatusError) Error() string {
	return fmt.Sprintf("daemon answered %d %s: %s", e.Status, e.Code, e.Message)
}

// Unwrap returns what a frontier in the process would have returned.
func (e *StatusError) Unwrap() error {
	switch {
	case e.Code == "stale":
		return frontier.ErrStale
	case e.Code == "not-found":
		return store.ErrNotFound
	case e.Status == http.StatusBadRequest, e.Status == http.StatusRequestEntityTooLarge:
		return store.ErrInvalid
	}
	return nil
}

// errIncomplete means that not everything that was sent was answered.
var errIncomplete = errors.New("the answer ended early; add the URLs again")

// isTemporary reports whether trying again may help: anything but a refusal for
// good, a certificate that is not to be trusted, and what the caller ended.
func isTemporary(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		switch status.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout, http.StatusInsufficientStorage:
			return true
		}
		return false
	}
	var untrusted *tls.CertificateVerificationError
	return !errors.As(err, &untrusted) && !errors.Is(err, context.Canceled)
}
