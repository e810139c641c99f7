package server

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"time"

	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// Several daemons may serve one store, each all of it: a client may talk to any,
// and what one sets holds for all. What the protocol calls local is then each
// queue's share: every queue counts as local to exactly one of the daemons that
// live, so that a client which asks each of ListNodes and sums gets the whole once.

// Members lists the daemons that serve a store together.
type Members interface {
	// Beat records that a node lives, and returns the names of those that do, in
	// order. A node that hasn't beaten for some time is dead.
	Beat(ctx context.Context, node string) ([]string, error)
	// Leave records that a node ends.
	Leave(ctx context.Context, node string) error
}

// beatEvery is the time between two signs of life. It is well below the time
// after which Members take a node for dead.
const beatEvery = 3 * time.Second

// Node is the name of this server among the nodes: by default its gRPC address, known after Listen.
func (s *service) Node() string { return s.cfg.Node }

// beat shows signs of life until ctx ends, and adopts a pause that was set at another
// daemon.
func (s *Server) beat(ctx context.Context) {
	if s.cfg.Members == nil {
		return
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := s.nodes(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot register this node, or list the others", "error", err)
		}
		if _, err := s.readPause(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot read whether the store is paused", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	if err := s.cfg.Members.Leave(last, s.Node()); err != nil {
		s.log.Warn("cannot unregister this node; the others count it as live until its registration expires", "error", err)
	}
}

// nodes returns the nodes that live, this one among them.
func (s *service) nodes(ctx context.Context) ([]string, error) {
	if s.cfg.Members == nil {
		return []string{s.Node()}, nil
	}
	return s.cfg.Members.Beat(ctx, s.Node())
}

// ListNodes implements the call.
func (s *grpcAPI) ListNodes(ctx context.Context, _ *frontierpb.Empty) (*frontierpb.StringList, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return nil, s.fault("list nodes", err)
	}
	return &frontierpb.StringList{Values: nodes}, nil
}

// share returns a function that reports whether a queue is meant: all of them, or those local to
// this node.
func (s *grpcAPI) share(ctx context.Context, local bool) (func(crawl, queue string) bool, error) {
	all := func(string, string) bool { return true }
	if !local || s.cfg.Members == nil {
		return all, nil
	}
	nodes, err := s.nodes(ctx)
	if err != nil || len(nodes) < 2 {
		return all, err
	}
	self := s.Node()
	return func(crawl, queue string) bool { return ownerOf(crawl, queue, nodes) == self }, nil
}

// ownerOf picks the node that a queue is local to: the largest hash of both, so that a
// node that comes or goes moves no more than its own share.
func ownerOf(crawl, queue string, nodes []string) string {
	weight := func(node string) uint64 {
		h := fnv.New64a()
		for _, part := range []string{node, crawl, queue} {
			_, _ = h.Write(append([]byte(part), 0)) // it has no error
		}
		// FNV's high bits change little with the last bytes: mix them.
		v := h.Sum64()
		v ^= v >> 33
		v *= 0xff51afd7ed558ccd
		return v ^ v>>33
	}
	return slices.MaxFunc(nodes, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
}

// localStats counts the queues of this node's share, by a scan. What was seen and
// is in no queue is in no node's share.
func (s *grpcAPI) localStats(ctx context.Context, crawl string) (store.Stats, error) {
	mine, err := s.share(ctx, true)
	if err != nil {
		return store.Stats{}, err
	}
	var sum store.Stats
	for q, err := range s.f.Queues(ctx, crawl, "") {
		if err != nil {
			return sum, err
		}
		if mine(q.Crawl, q.Name) && q.Held+q.Completed+q.Dropped > 0 {
			addQueue(&sum, &q)
		}
	}
	return sum, nil
}
