package admit

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// TestSetupsAreBounded connects more clients than may be set up at once: the listener accepts
// another when the server reads or closes one, and none after it is closed.
func TestSetupsAreBounded(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, Connections{Max: 4 * maxSetups})
	accepted, ended := make(chan net.Conn, 2*maxSetups), make(chan error, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	var d net.Dialer
	for range maxSetups + 3 {
		conn, err := d.DialContext(context.Background(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	var conns []net.Conn
	expect := func(n int) {
		t.Helper()
		for range n {
			conns = append(conns, <-accepted)
		}
		time.Sleep(20 * time.Millisecond)
		if more := len(accepted); more != 0 {
			t.Errorf("got %d connections more than %d that are set up", more, maxSetups)
		}
	}
	expect(maxSetups)
	for range 2 {
		if _, err := conns[0].Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := conns[0].Close(); err != nil {
			t.Fatal(err)
		}
		expect(1)
		conns = conns[1:]
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v; want %v", err, net.ErrClosed)
	}
	for _, conn := range conns {
		_ = conn.Close() // it ends the test
	}
}
