// Package freeport finds addresses for servers that are started later, as
// processes of their own: no connection of this machine and no other process
// that asks here takes them in between.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are below those that systems give to connections: one of those may be
// taken before it is used.
const lowest, highest = 20_000, 31_999

// Take returns n addresses on loopback, all different, that nobody listens on.
// Until release is called, nobody else is given them.
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

// hold makes sure that an address is free, and leaves it so: what it holds is
// the UDP port of the same number, by which processes that ask here know.
func hold(ctx context.Context, addr string) (net.PacketConn, error) {
	var lc net.ListenConfig
	h, err := lc.ListenPacket(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}
