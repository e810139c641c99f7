package server

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// TestListenOnTakenPort starts servers of which one port is taken: the error names it.
func TestListenOnTakenPort(t *testing.T) {
	f, _ := openFrontier(t, canon.Qiita(), newClock())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for i, name := range []string{"gRPC", "HTTP", "health"} {
		var addrs [3]string
		for j := range addrs {
			addrs[j] = "127.0.0.1:0"
		}
		addrs[i] = taken.Addr().String()
		s, err := New(t.Context(), f, Config{GRPCAddr: addrs[0], HTTPAddr: addrs[1], HealthAddr: addrs[2], Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err = s.Listen(t.Context()); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addrs[i]) {
			t.Errorf("%s: got error %v; want %v with %s", name, err, syscall.EADDRINUSE, addrs[i])
		}
	}
}
