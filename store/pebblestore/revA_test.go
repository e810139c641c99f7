package pebblestore

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestGateOfQueueThatAStepLoaded: of two queues of a group, the one served last is idle, and a step of the group of steps that loads it reads it before.
func TestGateOfQueueThatAStepLoaded(t *testing.T) {
	clock, hold := newStepClock(), make(chan struct{})
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now}
	s := mustOpen(t, "db", opt)
	for i, queue := range []string{"a", "b"} {
		if err := s.Configure(t.Context(), "", queue, store.QueueChange{Group: new("server"), Delay: new(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		addQueued(t, s, queue, 10*i, 10*i+1)
	}
	taken, err := s.Take(t.Context(), store.TakeRequest{Queue: "b", Lease: time.Hour})
	if err != nil || len(taken.Leases) != 1 {
		t.Fatal(taken, err)
	}
	done := []store.Settlement{{Key: taken.Leases[0].Key, Token: taken.Leases[0].Token}}
	if _, err := s.Settle(t.Context(), "", done); err != nil {
		t.Fatal(err)
	}
	opt.openQueues, opt.holdFill = 1, hold
	s = reopen(t, s, "db", opt)
	defer s.Close()
	// A step holds up the committer while QueueInfo and loadRest come into the queue.
	entered, goOn := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.submit(t.Context(), 1, func(tx *txn) error { close(entered); <-goOn; return nil })
	}()
	<-entered
	info := make(chan error)
	go func() { _, err := s.QueueInfo(t.Context(), "", "b"); info <- err }()
	for len(s.queue) < 1 {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	time.Sleep(100 * time.Millisecond)
	close(goOn)
	if err := <-info; err != nil {
		t.Fatal(err)
	}
	s.awaitQueues()
	got, err := s.Take(t.Context(), store.TakeRequest{Queue: "a"})
	if next := clock.Now().Add(time.Hour); err != nil || len(got.Leases) > 0 || !got.Next.Equal(next) {
		t.Errorf("got %+v, %v; want nothing before %v", got, err, next)
	}
}
