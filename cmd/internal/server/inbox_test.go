package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// withInHand admits calls that buffer up to max bytes together.
func withInHand(max int64) *admission { return &admission{inHand: admit.NewPool(max)} }

func testPump(t *testing.T, window int, max int64) (*service, func(recv func() (int, error), size func(int) int, commit func([]int) error) error) {
	t.Helper()
	s := &service{gate: &gate{draining: make(chan struct{}), admission: withInHand(max)}}
	return s, func(recv func() (int, error), size func(int) int, commit func([]int) error) error {
		return pump(s, t.Context(), decoded(recv, size), window, 1, commit, func(err error) error { return err })
	}
}

// decoded is a source of messages that need no decoding.
func decoded(recv func() (int, error), size func(int) int) source[int] {
	return source[int]{recv, size, func(int) error { return nil }}
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
		"by the common bytes": {64 << 10, 3 * 64 << 10, 4},
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
				if n := s.admission.inHand.Held(); n != 0 {
					t.Errorf("got %d bytes that were not given back", n)
				}
			})
		})
	}
}

// TestPumpBuysFirst checks that no message is decoded before its memory is
// bought, and that two calls that need more than is there together don't wait for each other.
func TestPumpBuysFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const max, each = 512 << 10, 256 << 10 // the most that a message is charged
		s := &service{gate: &gate{draining: make(chan struct{}), admission: withInHand(max)}}
		var opened atomic.Int32
		call := func() error {
			left := 5
			src := source[int]{
				recv: func() (int, error) {
					if left--; left < 0 {
						return 0, io.EOF
					}
					return each, nil
				},
				size: func(n int) int { return n },
				open: func(n int) error {
					if s.admission.inHand.Held() < int64(n) {
						t.Error("decoded before it was bought")
					}
					opened.Add(1)
					return nil
				},
			}
			return pump(s, t.Context(), src, 4, 1, func([]int) error { return nil }, func(err error) error { return err })
		}
		other := admit.ByToken([32]byte{1})
		s.admission.inHand.Try(other, max)
		done := make(chan error)
		for range 2 {
			go func() { done <- call() }()
		}
		synctest.Wait()
		if opened.Load() > 0 {
			t.Error("decoded a message while nothing was left to buy")
		}
		s.admission.inHand.Give(other, max)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := opened.Load(); n != 10 || s.admission.inHand.Held() != 0 {
			t.Errorf("got %d messages, %d bytes not given back; want 10, none", n, s.admission.inHand.Held())
		}
	})
}

// TestPumpDrains checks that items that were read are committed before the end.
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

// TestPumpDrainsFinished has a client that has ended its stream before the server drains: nothing
// is left to send again, so the call ends as always.
func TestPumpDrainsFinished(t *testing.T) {
	for _, window := range []int{1, 16} { // at the drain, messages wait before the end, or it alone
		synctest.Test(t, func(t *testing.T) {
			s, run := testPump(t, window, 1<<20)
			sent, got := 0, 0
			recv := func() (int, error) {
				if sent++; sent > 3 {
					return 0, io.EOF
				}
				return sent, nil
			}
			err := run(recv, func(int) int { return 1 }, func(batch []int) error {
				synctest.Wait()
				if got += len(batch); got > 1 && !s.isDraining() {
					close(s.draining)
				}
				return nil
			})
			if err != nil || got != 3 {
				t.Errorf("window %d: got %d messages, %v; want 3 and no error", window, got, err)
			}
		})
	}
}

// TestPumpDrainsWhileSent has a client that always sends another message during
// a commit: the call ends nevertheless, with the last batch that was read.
func TestPumpDrainsWhileSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, run := testPump(t, 16, 1<<20)
		recv := func() (int, error) { return 0, nil }
		commits := 0
		err := run(recv, func(int) int { return 1 }, func([]int) error {
			synctest.Wait() // the next batch waits
			switch commits++; commits {
			case 3:
				close(s.draining)
			case 5:
				return errors.New("goes on after the drain")
			}
			return nil
		})
		if !errors.Is(err, errDraining) || commits != 4 {
			t.Errorf("got %d commits, %v; want the one under way and that of what waited, and the end", commits, err)
		}
		synctest.Wait() // for the reader, which may outlive the call
		if n := s.admission.inHand.Held(); n != 0 {
			t.Errorf("got %d bytes that were not given back", n)
		}
	})
}

// TestPumpManyInOrder lets several commits be under way: answers come in the
// order of the messages whatever commit ends first, and no more than asked for
// are under way.
func TestPumpManyInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const atOnce = 3
		s := &service{gate: &gate{draining: make(chan struct{}), admission: withInHand(1 << 20)}}
		next, sent := 0, 0
		var running, most atomic.Int32
		recv := func() (int, error) {
			if next++; next > 500 {
				return 0, io.EOF
			}
			return next, nil
		}
		commit := func(batch []int) []int {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			time.Sleep(time.Duration(batch[0]*7919%13) * time.Millisecond) // the bubble's clock
			return batch
		}
		send := func(answer []int) error {
			for _, m := range answer {
				if sent++; m != sent {
					t.Errorf("got %d; want %d", m, sent)
				}
			}
			return nil
		}
		err := pump(s, t.Context(), decoded(recv, func(int) int { return 100 }), 4, atOnce, commit, send)
		if err != nil || sent != 500 || most.Load() != atOnce {
			t.Errorf("got %d answers, %d commits at once, %v; want 500, %d, none", sent, most.Load(), err, atOnce)
		}
		synctest.Wait() // for the reader, which may outlive the call
		if n := s.admission.inHand.Held(); n != 0 {
			t.Errorf("got %d bytes that were not given back", n)
		}
	})
}

// TestPumpEnds ends calls by a client that is gone and by a commit that
// panics, with one commit at once and with several.
func TestPumpEnds(t *testing.T) {
	gone := errors.New("gone")
	endless := func() (int, error) { return 1, nil }
	for _, atOnce := range []int{1, 3} {
		for name, c := range map[string]struct {
			commit func([]int) error
			want   error
		}{
			"cannot send": {func([]int) error { return gone }, gone},
			"panics":      {func([]int) error { panic("x") }, errBroken},
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &service{gate: &gate{draining: make(chan struct{}), admission: withInHand(1 << 20), log: slog.New(slog.DiscardHandler)}}
				err := pump(s, t.Context(), decoded(endless, func(int) int { return 100 }), 4, atOnce, c.commit, func(err error) error { return err })
				if !errors.Is(err, c.want) {
					t.Errorf("%s, %d at once: got %v; want %v", name, atOnce, err, c.want)
				}
				synctest.Wait() // for the reader, which may outlive the call
				if n := s.admission.inHand.Held(); n != 0 {
					t.Errorf("%s, %d at once: got %d bytes that were not given back", name, atOnce, n)
				}
			})
		}
	}
}

// TestPumpManyStopsReading lets a client read no answer: the commits stop, and
// then the reading.
func TestPumpManyStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window, atOnce = 16, 3
		s := &service{gate: &gate{draining: make(chan struct{}), admission: withInHand(1 << 20)}}
		var read atomic.Int32
		recv := func() (int, error) { return int(read.Add(1)), nil }
		commit := func(batch []int) int { return len(batch) }
		unread := make(chan struct{})
		send := func(int) error {
			<-unread
			return io.EOF
		}
		done := make(chan error)
		go func() {
			done <- pump(s, t.Context(), decoded(recv, func(int) int { return 1 }), window, atOnce, commit, send)
		}()
		synctest.Wait()
		if n := read.Load(); n < window || n > (atOnce+1)*window+1 {
			t.Errorf("got %d messages read; want %d to %d", n, window, (atOnce+1)*window+1)
		}
		close(unread)
		if err := <-done; err != io.EOF {
			t.Errorf("got %v; want what send said", err)
		}
	})
}
