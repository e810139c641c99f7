package admit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var testBounds = WorkBounds{Alone: 100, Shared: 20, Total: 200, Rest: time.Millisecond}

func numbered(n int) Client { return ByToken([32]byte{1, byte(n), byte(n >> 8)}) }

// began calls Begin, which must not wait.
func began(t *testing.T, k *Work, c Client, n int) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := k.Begin(ctx, c, n)
	if err != nil {
		return 0
	}
	return got
}

// TestWorkBounds checks how much a client may have in progress: alone, beside others, and
// after these have not worked for a while.
func TestWorkBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, a, b := NewWork(testBounds), numbered(1), numbered(2)
		if got := began(t, k, a, 1000); got != 100 {
			t.Errorf("got %d units alone; want 100", got)
		}
		if got := began(t, k, b, 1000); got != 20 {
			t.Errorf("got %d units beside another client; want 20", got)
		}
		if got := began(t, k, b, 1); got != 0 {
			t.Errorf("got %d units beyond the bound; want none", got)
		}
		k.End(a, 90)
		if got := began(t, k, a, 20); got != 10 {
			t.Errorf("got %d units beside 10; want 10", got)
		}
		k.End(b, 20)
		time.Sleep(2 * workRecent)
		k.End(a, 20)
		if got := began(t, k, a, 1000); got != 100 {
			t.Errorf("got %d units alone again; want 100", got)
		}
	})
}

// TestWorkOfMany checks that the bound of each falls with the number of clients, to 1 at
// least.
func TestWorkOfMany(t *testing.T) {
	k := NewWork(testBounds)
	sum := 0
	for i := range 300 {
		sum += began(t, k, numbered(i), 1000)
	}
	// 100, then 20 for each of 9 others, then 200/n, at least 1.
	if sum > 100+9*20+1000 {
		t.Errorf("got %d units in progress; want few", sum)
	}
	if got := began(t, k, numbered(1000), 1000); got != 1 {
		t.Errorf("got %d units of one of many; want 1", got)
	}
}

// TestWorkSmallPieces checks that a call waits rather than beginning with much less than it
// asked for.
func TestWorkSmallPieces(t *testing.T) {
	k, a := NewWork(testBounds), numbered(1)
	if got := began(t, k, a, 80); got != 80 {
		t.Fatalf("got %d units; want 80", got)
	}
	if got := began(t, k, a, 60); got != 0 {
		t.Errorf("got %d of 60 units; want to wait", got)
	}
	if got := began(t, k, a, 20); got != 20 {
		t.Errorf("got %d of 20 units; want all", got)
	}
}

// TestWorkInOrder checks that a client's calls begin in order of arrival, and that one that
// gives up makes room for the next.
func TestWorkInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, a := NewWork(testBounds), numbered(1)
		began(t, k, a, 100)
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		order := make(chan int, 3)
		go func() {
			_, err := k.Begin(ctx, a, 100)
			gaveUp <- err
		}()
		synctest.Wait()
		for i := range 3 {
			go func() {
				if _, err := k.Begin(t.Context(), a, 30); err == nil {
					order <- i
				}
			}()
			synctest.Wait()
		}
		k.End(a, 40)
		synctest.Wait()
		if len(order) != 0 {
			t.Error("a call overtook one that waits for more")
		}
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v; want that of the context", err)
		}
		for want := range 3 {
			synctest.Wait()
			if n := len(order); n != 1 {
				t.Fatalf("got %d calls for 40 units; want one of 30", n)
			}
			if got := <-order; got != want {
				t.Errorf("got call %d; want %d", got, want)
			}
			k.End(a, 30)
		}
	})
}

// TestWorkForgets checks that clients that no longer work take no memory.
func TestWorkForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewWork(testBounds)
		for i := range 1000 {
			k.End(numbered(i), began(t, k, numbered(i), 1))
		}
		time.Sleep(2 * workRecent)
		k.End(numbered(0), began(t, k, numbered(0), 1))
		if n := len(k.clients); n != 1 {
			t.Errorf("got %d clients in memory; want 1", n)
		}
	})
}

// TestWorkRests has a client with more to do rest after each piece of work, in proportion to it,
// while another client works. A client that has nothing more to do, or works alone, does not rest.
func TestWorkRests(t *testing.T) {
	for _, c := range []struct {
		name         string
		other, waits bool
		want         time.Duration
	}{
		{"alone", false, true, 0},
		{"beside another", true, true, 20 * testBounds.Rest},
		{"with nothing more to do", true, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, a := NewWork(testBounds), numbered(1)
				if c.other {
					began(t, k, numbered(2), 1)
				}
				n := began(t, k, a, 1000)
				next := func() {
					if _, err := k.Begin(t.Context(), a, n); err != nil {
						t.Error(err)
					}
				}
				start, done := time.Now(), make(chan struct{})
				if c.waits {
					go func() { defer close(done); next() }()
					synctest.Wait()
					k.End(a, n)
					<-done
				} else {
					k.End(a, n)
					next()
				}
				if took := time.Since(start); took != c.want {
					t.Errorf("got the next turn after %v; want %v", took, c.want)
				}
			})
		})
	}
}
