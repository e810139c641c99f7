// Package async has helpers for waiting that the standard library lacks.
package async

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx ends: then it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Closed reports whether ch is closed. Nothing may be sent on ch.
func Closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
