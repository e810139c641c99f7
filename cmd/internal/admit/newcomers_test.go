package admit

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestNewcomers: beyond a burst, strangers come in at the pace alone, while an address that is
// known is let in, for knownFor.
func TestNewcomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, every = 5, time.Second
		n := NewNewcomers(burst, every)
		friend := at("192.0.2.1")
		n.Know(friend)
		for i := range burst {
			if !n.Enter(at(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}).String())) {
				t.Fatalf("newcomer %d of a burst of %d was refused", i, burst)
			}
		}
		stranger := at("203.0.113.1")
		for range 3 {
			for range 10 * burst { // refused ones owe nothing
				if n.Enter(stranger) {
					t.Fatal("a newcomer was let in beyond the burst")
				}
				if !n.Enter(friend) {
					t.Fatal("a known address was refused")
				}
			}
			time.Sleep(every)
			if !n.Enter(stranger) {
				t.Fatalf("no newcomer was let in %v later", every)
			}
		}
		time.Sleep(knownFor)
		n.Know(stranger)
		if n.knows(friend) || len(n.known) != 1 {
			t.Errorf("got %d known addresses after %v; want the newest", len(n.known), knownFor)
		}
	})
}

// TestKnownAddressesAreBounded: an address beyond maxKnown stays a stranger.
func TestKnownAddressesAreBounded(t *testing.T) {
	n := NewNewcomers(1, time.Hour)
	for i := range maxKnown + 10 {
		n.Know(at(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String()))
	}
	if len(n.known) != maxKnown {
		t.Errorf("got %d known addresses; want %d", len(n.known), maxKnown)
	}
}

func at(address string) Client {
	return ByAddress(&net.TCPAddr{IP: net.ParseIP(address)})
}

// TestListenerRefusesNewcomers connects from several loopback addresses: beyond the burst the
// listener closes the connection, unless a client was let in from its address.
func TestListenerRefusesNewcomers(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, Connections{Max: 64, Newcomers: NewNewcomers(1, time.Hour)})
	defer l.Close()
	accepted := make(chan *Conn, 8)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn.(*Conn)
		}
	}()
	dial := func(ip byte) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, ip)}}
		conn, err := d.DialContext(t.Context(), "tcp4", inner.Addr().String())
		if errors.Is(err, syscall.ECONNRESET) && ip == 3 {
			return nil // it was refused before the call returned
		}
		if err != nil {
			t.Skip("cannot connect from another loopback address:", err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial(2)
	first := <-accepted
	for range 3 {
		refused := dial(3)
		if refused == nil {
			continue
		}
		if err := refused.SetReadDeadline(time.Now().Add(hang.Limit)); err != nil {
			t.Fatal(err)
		}
		_, err = refused.Read(make([]byte, 1))
		if timeout, ok := err.(net.Error); err == nil || ok && timeout.Timeout() {
			t.Fatalf("got %v from the connection of a newcomer; want it closed", err)
		}
	}
	if got := l.Closed(); got != 3 {
		t.Errorf("got %d refused connections; want 3", got)
	}
	first.Known()
	dial(2)
	if second := <-accepted; second.Client() != first.Client() {
		t.Errorf("got a connection of %v; want one of %v", second.Client(), first.Client())
	}
	if len(l.setups) > 3 {
		t.Errorf("got %d connections in their setup; want the 2 accepted ones and the next", len(l.setups))
	}
}
