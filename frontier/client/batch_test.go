package client

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnsweredCallsDoNotWaitForOthers has two calls share a request, of which a daemon answers only the first one's asks
// at once.
func TestAnsweredCallsDoNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, sendings := time.Now(), 0
		b := &batcher{c: &Client{opt: Options{Patience: time.Minute}, closing: make(chan struct{})}, what: "add URLs"}
		b.send = func(_ context.Context, asks []*ask) (sent bool, err error) {
			sendings++
			asks[0].answered = true
			if time.Since(began) < 10*time.Second {
				return true, io.ErrUnexpectedEOF
			}
			return true, nil
		}
		parts := []*part{{asks: make([]ask, 1), done: make(chan struct{})}, {asks: make([]ask, 2), done: make(chan struct{})}}
		go b.deliver(parts)
		<-parts[0].done
		if waited := time.Since(began); waited > 0 || parts[0].err != nil {
			t.Fatalf("got an answer after %v, %v; want it at once", waited, parts[0].err)
		}
		<-parts[1].done
		if parts[1].err != nil || sendings != 3 {
			t.Fatalf("got %v after %d sendings; want all answered after 3", parts[1].err, sendings)
		}
	})
}
