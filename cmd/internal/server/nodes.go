package server

import (
	"context"
	"time"
)

// Several daemons may serve one store, each all of it: a client may talk to any,
// and what one sets holds for all. What the protocol calls local is then each
// queue's share: every queue counts as local to exactly one of the daemons that
// live, so that a client which asks each of ListNodes and sums gets the whole once.

// beatEvery is the time between two signs of life. It is well below the time
// after which Members take a node for dead.
const beatEvery = 3 * time.Second

// Node is the name of this server among the nodes: by default its gRPC address, known after Listen.
func (s *service) Node() string { return s.cfg.Node }

// nodes returns the nodes that live, this one among them.
func (s *service) nodes(ctx context.Context) ([]string, error) {
	if s.cfg.Members == nil {
		return []string{s.Node()}, nil
	}
	return s.cfg.Members.Beat(ctx, s.Node())
}
