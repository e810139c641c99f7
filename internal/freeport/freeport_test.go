package freeport

import (
	"net"
	"os/exec"
	"sync"
	"testing"

	"github.com/firstseen/firstseen/internal/async"
)

// TestTake checks that the addresses are different and free, and that no other call returns them.
func TestTake(t *testing.T) {
	const n = 20
	addrs, release, err := Take(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	taken := make(map[string]bool)
	for _, addr := range addrs {
		if h, err := hold(t.Context(), addr); err == nil {
			t.Errorf("%s was given twice", addr)
			_ = h.Close() // nothing was sent
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatalf("cannot listen where it is free: %v", err)
		}
		defer l.Close()
		taken[addr] = true
	}
	if len(taken) != n {
		t.Errorf("got %d addresses; want %d", len(taken), n)
	}
}

func TestWhatIsInUseIsNotFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if h, err := hold(t.Context(), l.Addr().String()); err == nil {
		t.Error("got an address that is in use; want an error")
		_ = h.Close() // nothing was sent
	}
}

// TestTakeWhileChildrenStart: an address can be used at once. From its fork to its exec, a child has a
// copy of every socket of this process. So has the child that the first call of Start makes to find out
// what the system can do, which syscall.ForkLock does not hold back.
func TestTakeWhileChildrenStart(t *testing.T) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for range 4 {
		wg.Go(func() {
			for !async.Closed(stop) {
				_ = exec.Command("true").Run() // only its start matters
			}
		})
	}
	for range 200 {
		addrs, release, err := Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", addrs[0])
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close() // nobody connected
		release()
	}
}
