package redisstore

import "time"

// Waiting returns options with which replicas may take as long.
func (o Options) Waiting(d time.Duration) Options {
	o.waitTimeout = d
	return o
}
