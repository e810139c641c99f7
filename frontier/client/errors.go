package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

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
