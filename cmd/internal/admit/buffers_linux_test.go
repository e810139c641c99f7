package admit

import (
	"net"
	"syscall"
	"testing"
)

// TestSendBuffers checks how many bytes the kernel buffers for a client that reads nothing: few
// before the connection is known, and a bounded number after.
func TestSendBuffers(t *testing.T) {
	_, conn, _ := connected(t, net.ListenConfig{Control: Control})
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
}
