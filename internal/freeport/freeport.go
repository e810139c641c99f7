// Package freeport finds free addresses for servers that are started later as separate processes.
// Until they start, no connection of this machine and no other user of this package takes the
// addresses.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"
)

// Ports are below those that systems give to connections: one of those may be
// taken before it is used.
const lowest, highest = 20_000, 31_999

// Take returns n different addresses on loopback that are free. Until release is called, no other
// call of Take, in any process, returns them.
func Take(ctx context.Context, n int) (addrs []string, release func(), err error) {
	var holds []net.PacketConn
	release = func() {
		for _, h := range holds {
			_ = h.Close() // nothing was sent
		}
	}
	for tries := 0; len(addrs) < n; tries++ {
		addr := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest+1))
		h, err := hold(ctx, addr)
		if err != nil && tries >= 1000 {
			release()
			return nil, nil, fmt.Errorf("cannot find a free port; got %d of %d in %d tries: %w", len(addrs), n, tries, err)
		}
		if err == nil {
			holds, addrs = append(holds, h), append(addrs, addr)
		}
	}
	return addrs, release, nil
}

// hold checks that an address is free. It reserves the address by opening the UDP port of the same
// number, which other callers of Take check. It does not listen at the address to find out: from its
// fork to its exec, a child would have a copy of the listener.
func hold(ctx context.Context, addr string) (net.PacketConn, error) {
	var lc net.ListenConfig
	h, err := lc.ListenPacket(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return h, nil
	}
	if err == nil {
		err = errors.Join(errors.New("somebody listens at "+addr), c.Close())
	}
	return nil, errors.Join(err, h.Close())
}
