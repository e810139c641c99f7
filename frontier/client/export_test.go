package client

import (
	"net/http"
	"time"
)

// Tuned returns o with what only tests change; 0 leaves the default.
func Tuned(o Options, timeout time.Duration, requests int) Options {
	o.timeout, o.requests = timeout, requests
	return o
}

// Over returns options of a client that makes its requests through t.
func Over(t http.RoundTripper) Options { return Options{Transport: t} }
