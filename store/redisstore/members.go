package redisstore

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// aliveFor is how long a node counts as alive after a beat.
const aliveFor = 15 * time.Second

// Beat registers a daemon as alive, under the name by which its clients reach it (at most 255
// bytes), and returns the names of all that are alive, in order. A daemon that has not called it for
// 15 seconds, by the server's clock, counts as dead.
func (s *Store) Beat(ctx context.Context, node string) ([]string, error) {
	return s.register(ctx, node, aliveFor)
}

// Leave removes a daemon that ends.
func (s *Store) Leave(ctx context.Context, node string) error {
	_, err := s.register(ctx, node, 0)
	return err
}

func (s *Store) register(ctx context.Context, node string, alive time.Duration) ([]string, error) {
	if node == "" || len(node) > 255 {
		return nil, fault.As(store.ErrInvalid, "cannot register node; got a name of %d bytes; want 1 to 255", len(node))
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	blob := appendUint(nil, 6, uint64(alive.Milliseconds()))
	r, err := s.ask(ctx, scriptBeat, storeShard, "", append(blob, node...))
	if err != nil {
		return nil, err
	}
	var names []string
	for r.more() {
		names = append(names, r.short())
	}
	return names, r.err()
}
