package pebblestore

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// longOp is a step of many parts, each as long as a group may be by the clock of the test.
type longOp struct {
	parts       int
	clock, done *atomic.Int64
}

func (o *longOp) apply(*txn) error {
	o.clock.Add(int64(groupTime))
	o.done.Add(1)
	if o.parts--; o.parts > 0 {
		return errMore
	}
	return nil
}

// TestLargeCallsLeaveRoom: a step that comes while parts of six large calls wait is carried out behind at most two of these: one
// of the group that is being carried out, and one that begins the next. The clock stands still but for these parts, and the committer while the next step comes, so the machine's load has no say.
func TestLargeCallsLeaveRoom(t *testing.T) {
	var clock, done atomic.Int64
	opt := Options{FS: vfs.NewMem()}
	opt.monotonic = func() time.Duration { return time.Duration(clock.Load()) }
	s := mustOpen(t, "db", opt)
	var asked []*request
	ask := func(weight int, apply func(*txn) error) {
		r := s.requests.Get().(*request)
		r.apply, r.weight, r.rows = apply, weight, firstRows
		if err := s.enqueue(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, r)
	}
	const callers, steps = 6, 40
	applied, next := make(chan int64), make(chan bool)
	step := func(*txn) error {
		applied <- done.Load()
		<-next
		return nil
	}
	ask(1, step)
	<-applied
	for range callers {
		ask(32768, (&longOp{parts: steps, clock: &clock, done: &done}).apply)
	}
	ask(1, step)
	next <- true
	before := <-applied
	if before > 2*callers { // a first part of each, and one of those that had theirs between any two
		t.Errorf("a step was carried out behind %d parts of %d large calls that came before it; want %d", before, callers, 2*callers)
	}
	for range steps {
		ask(1, step)
		next <- true
		now := <-applied
		if now > before+2 {
			t.Errorf("a step was carried out behind %d parts of large calls; want 2", now-before)
		}
		before = now
	}
	next <- true
	for _, r := range asked {
		<-r.done
		if err := s.answer(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	if n := done.Load(); n != callers*steps {
		t.Errorf("the large calls were carried out in %d parts, want %d", n, callers*steps)
	}
}
