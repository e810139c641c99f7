package admit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

func TestMain(m *testing.M) { os.Exit(hang.Main(m, func() error { return goleak.Find() })) }

func token(n byte) Client { return ByToken([32]byte{n}) }

// greedy takes one by one until it gets no more, and returns how many it got.
func greedy(p *Pool, c Client) int64 {
	n := int64(0)
	for p.Try(c, 1) {
		n++
	}
	return n
}

// TestSharesOfPool lets clients take as much as they can, in turn: something must be left
// for each later client.
func TestSharesOfPool(t *testing.T) {
	p := NewPool(1024)
	for i, want := range []int64{768, 192, 48, 12, 3, 1} {
		if got := greedy(p, token(byte(i))); got != want {
			t.Errorf("client %d: got %d; want %d", i, got, want)
		}
	}
	if got := p.Held(); got != 1024 {
		t.Errorf("got %d held; want all", got)
	}
}

// TestSharesBecomeEqual lets the first clients give back while all of them want more.
func TestSharesBecomeEqual(t *testing.T) {
	p := NewPool(1000)
	const clients = 4
	held := [clients]int64{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		i := rnd.IntN(clients)
		if rnd.IntN(2) == 0 && held[i] > 0 {
			p.Give(token(byte(i)), 1)
			held[i]--
			continue
		}
		for range 3 { // they want more than they give back
			if p.Try(token(byte(i)), 1) {
				held[i]++
			}
		}
	}
	for i, n := range held {
		if n < 150 || n > 300 {
			t.Errorf("client %d holds %d of %v; want about 3/13 of 1000", i, n, held)
		}
	}
}

// TestNobodyOvertakesAClientThatHoldsNothing has a client wait for more than is free, while
// another takes and returns small amounts all the time.
func TestNobodyOvertakesAClientThatHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(100)
		busy, other := token(1), token(2)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		for i := range 75 { // calls that hold one each, nearly all the time
			wg.Go(func() {
				for ctx.Err() == nil {
					if n, err := p.Take(ctx, busy, 1); err == nil {
						time.Sleep(time.Duration(1000+i) * time.Microsecond)
						p.Give(busy, n)
					}
				}
			})
		}
		time.Sleep(time.Second)
		n, err := p.Take(t.Context(), other, 60)
		if err != nil || n != 50 { // half of all
			t.Errorf("got %d, %v; want 50", n, err)
		}
		cancel()
	})
}

func TestTakeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(10)
		p.Try(token(1), 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		behind := make(chan int64)
		go func() {
			time.Sleep(time.Millisecond)
			n, err := p.Take(t.Context(), token(3), 2)
			if err != nil {
				t.Error(err)
			}
			behind <- n
		}()
		go func() {
			time.Sleep(time.Millisecond)
			p.Give(token(1), 3) // enough for the second alone
		}()
		if n, err := p.Take(ctx, token(2), 5); !errors.Is(err, context.DeadlineExceeded) || n != 0 {
			t.Errorf("got %d, %v; want the error of the context", n, err)
		}
		if n := <-behind; n != 2 {
			t.Errorf("got %d; want 2 for the one behind", n)
		}
		p.Give(token(1), 7)
		p.Give(token(3), 2)
		if p.Held() != 0 || p.Waits() || len(p.held) != 0 {
			t.Errorf("got %d held, waits %t, clients %v; want an empty pool", p.Held(), p.Waits(), p.held)
		}
	})
}

// TestPoolUnderLoad checks that nothing is lost or granted twice, and that every client is served.
func TestPoolUnderLoad(t *testing.T) {
	p := NewPool(1000)
	var wg sync.WaitGroup
	for c := range 8 {
		for range 8 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(c), 7))
				for range 500 {
					n, err := p.Take(t.Context(), token(byte(c)), 1+rnd.Int64N(600))
					if err != nil || p.Held() > 1000 {
						t.Errorf("got %v, %d held", err, p.Held())
					}
					p.Give(token(byte(c)), n)
				}
			})
		}
	}
	wg.Wait()
	if p.Held() != 0 || len(p.held) != 0 {
		t.Errorf("got %d held by %v; want nothing", p.Held(), p.held)
	}
}

func TestClientsByAddress(t *testing.T) {
	addr := func(ip string) Client { return ByAddress(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1}) }
	for _, same := range [][2]string{{"192.0.2.1", "::ffff:192.0.2.1"}, {"2001:db8::1", "2001:db8::ffff:1:2:3"}} {
		if addr(same[0]) != addr(same[1]) {
			t.Errorf("%s and %s: got two clients; want one", same[0], same[1])
		}
	}
	for _, different := range [][2]string{{"192.0.2.1", "192.0.2.2"}, {"2001:db8::1", "2001:db8:0:1::1"}} {
		if addr(different[0]) == addr(different[1]) {
			t.Errorf("%s and %s: got one client; want two", different[0], different[1])
		}
	}
	if got := fmt.Sprintf("%q %q %q %q", addr("192.0.2.1").Address(), addr("2001:db8::1").Address(), token(1).Address(), ByAddress(nil).Address()); got != `"192.0.2.1" "2001:db8::/64" "" ""` {
		t.Errorf("got %s", got)
	}
}
