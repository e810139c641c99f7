package pebblestore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestLeaseWhileLearning: after Open, Prepare and leases do not wait until the packed keys are sorted.
// Everything else does, and then knows them.
func TestLeaseWhileLearning(t *testing.T) {
	for name, opt := range map[string]Options{"index": {}, "runs": {IndexBytes: 1}, "exact": {Exact: true}} {
		t.Run(name, func(t *testing.T) {
			opt.FS = vfs.NewMem()
			s := mustOpen(t, "db", opt)
			addItems(t, s, placedItems(0, 1000))
			hold := make(chan struct{})
			opt.holdLearning = hold
			s = reopen(t, s, "db", opt)
			defer s.Close()
			if err := s.Prepare(t.Context(), store.Terms{Retention: time.Hour}); err != nil {
				t.Fatal(err)
			}
			got, err := s.Take(t.Context(), store.TakeRequest{})
			if err != nil || len(got.Leases) != 1 {
				t.Fatalf("got %d leases, %v; want one", len(got.Leases), err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if v, err := s.Add(ctx, "", placedItems(0, 1000), store.AddOptions{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %d verdicts, %v, before the keys are sorted; want none", len(v), err)
			}
			if n := s.Index().Keys; n != 1000 {
				t.Errorf("got %d keys; want 1000", n)
			}
			close(hold)
			v, err := s.Add(t.Context(), "", placedItems(0, 1100), store.AddOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range v {
				if want := i >= 1000; (v.Status == store.New) != want {
					t.Fatalf("key %d: got %v; want new %t", i, v.Status, want)
				}
			}
			wantPlaces(t, s, 0, 1100, 1099)
		})
	}
}

// TestCloseWhileLearning: Close ends the steps that wait until the packed keys are sorted.
func TestCloseWhileLearning(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	addItems(t, s, placedItems(0, 1000))
	opt.holdLearning = make(chan struct{})
	s = reopen(t, s, "db", opt)
	end := make(chan error)
	go func() {
		_, err := s.Lookup(context.Background(), "", testKey(1))
		end <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-end; !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v; want %v", err, store.ErrClosed)
	}
}
