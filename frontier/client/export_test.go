package client

import "time"

// Tuned returns o with what only tests change; 0 leaves the default.
func Tuned(o Options, timeout time.Duration, requests int) Options {
	o.tuning = tuning{timeout, requests}
	return o
}
