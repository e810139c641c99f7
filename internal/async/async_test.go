package async

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if err := Sleep(ctx, 40*time.Second); err != nil || time.Since(begin) != 40*time.Second {
			t.Errorf("got %v after %v; want no error after 40 s", err, time.Since(begin))
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %v; want the end of the context after 1 min", err, time.Since(begin))
		}
	})
}

func TestClosed(t *testing.T) {
	ch := make(chan struct{})
	if Closed(ch) || Closed(nil) {
		t.Error("got closed; want open")
	}
	close(ch)
	if !Closed(ch) {
		t.Error("got open; want closed")
	}
}
