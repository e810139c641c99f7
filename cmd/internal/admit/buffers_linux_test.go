package admit

import (
	"net"
	"syscall"
	"testing"
)

// TestSendBuffers checks what the kernel keeps of what is sent: little before a connection is
// known, and a bounded amount after.
func TestSendBuffers(t *testing.T) {
	lc := net.ListenConfig{Control: Control}
	inner, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, Connections{Max: 4})
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn := accepted.(*Conn)
	size := func() (n int) {
		raw, err := conn.Conn.(*net.TCPConn).SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { n, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF) })
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := size(); n > 2*strangeBuffer { // the kernel doubles it
		t.Errorf("got %d bytes for a stranger; want at most %d", n, 2*strangeBuffer)
	}
	conn.Known()
	if n := size(); n <= 2*strangeBuffer || n > 2*knownBuffer {
		t.Errorf("got %d bytes for a known connection; want more than %d, at most %d", n, 2*strangeBuffer, 2*knownBuffer)
	}
	for _, c := range []net.Conn{client, conn} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
