package server

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

func testPump(t *testing.T, window int, max int64) (*Server, func(recv func() (int, error), size func(int) int, commit func([]int) error) error) {
	t.Helper()
	s := &Server{draining: make(chan struct{}), inHand: newBudget(max)}
	return s, func(recv func() (int, error), size func(int) int, commit func([]int) error) error {
		return pump(s, t.Context(), window, recv, size, commit)
	}
}

// TestPumpDelivers checks that everything is committed once, in order.
func TestPumpDelivers(t *testing.T) {
	const n = 10_000
	_, run := testPump(t, 64, 1<<20)
	next, want := 0, 0
	recv := func() (int, error) {
		if next == n {
			return 0, io.EOF
		}
		next++
		return next - 1, nil
	}
	err := run(recv, func(int) int { return 100 }, func(batch []int) error {
		if len(batch) == 0 || len(batch) > 64 {
			t.Errorf("got a batch of %d; want 1 to 64", len(batch))
		}
		for _, m := range batch {
			if m != want {
				t.Fatalf("got %d; want %d", m, want)
			}
			want++
		}
		return nil
	})
	if err != nil || want != n {
		t.Errorf("got %d messages, %v; want %d", want, err, n)
	}
}

// TestPumpStopsReading lets a commit hang, as one whose client does not read
// its acks: the reading must stop, whatever the client sends.
func TestPumpStopsReading(t *testing.T) {
	for name, test := range map[string]struct {
		size  int
		limit int64
		most  int
	}{
		"by number":           {1, 1 << 20, 2*16 + 1},
		"by bytes":            {windowBytes / 4, 1 << 30, 2*4 + 1},
		"by the common bytes": {slab, 3 * slab, 4},
		"a message at least":  {windowBytes * 2, 1 << 20, 2 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, run := testPump(t, 16, test.limit)
				read, hang := 0, make(chan struct{})
				recv := func() (int, error) { read++; return 0, nil }
				done := make(chan error)
				go func() {
					done <- run(recv, func(int) int { return test.size }, func([]int) error {
						<-hang
						return errors.New("the client is gone")
					})
				}()
				synctest.Wait()
				if read == 0 || read > test.most {
					t.Errorf("read %d messages; want 1 to %d", read, test.most)
				}
				close(hang)
				if err := <-done; err == nil {
					t.Error("got no error from a failed commit")
				}
				synctest.Wait()
				if !s.inHand.sem.TryAcquire(test.limit) {
					t.Error("bytes were not given back")
				}
			})
		})
	}
}

// TestPumpDrains checks that what was read is committed before the end.
func TestPumpDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, run := testPump(t, 16, 1<<20)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sent, got := 0, 0
		recv := func() (int, error) {
			if sent == 3 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			sent++
			return sent, nil
		}
		done := make(chan error)
		go func() {
			done <- run(recv, func(int) int { return 1 }, func(batch []int) error { got += len(batch); return nil })
		}()
		synctest.Wait()
		close(s.draining)
		if err := <-done; !errors.Is(err, errDraining) || got != 3 {
			t.Errorf("got %d messages, %v; want 3 and the end", got, err)
		}
	})
}
