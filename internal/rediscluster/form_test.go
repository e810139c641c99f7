package rediscluster

import (
	"context"
	"errors"
	"testing"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestMeetsASlowNode forms a cluster of which a node is stopped for longer than the node timeout:
// the others forget its handshake.
func TestMeetsASlowNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	t.Parallel()
	c := New(t, 3, 0)
	ctx := hang.Context(t)
	slow := c.Nodes[0]
	do := func(n *Node, command ...string) {
		t.Helper()
		if _, err := n.Do(ctx, command...); err != nil {
			t.Fatal(err)
		}
	}
	do(slow, "CLUSTER", "RESET", "SOFT")
	for _, n := range c.Nodes[1:] {
		do(n, "CLUSTER", "FORGET", slow.ID)
	}
	if err := slow.Stop(); err != nil {
		t.Fatal(err)
	}
	met := make(chan error, 1)
	go func() { met <- c.meet(ctx) }()
	alone := func(is bool) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			for _, n := range c.Nodes[1:] {
				if members, err := n.members(ctx); err != nil || (len(members) == 2) != is {
					return false, err
				}
			}
			return true, nil
		}
	}
	err := errors.Join(until(ctx, "begins the handshake", alone(false)), until(ctx, "forgets it", alone(true)), slow.Cont(), <-met)
	if err != nil {
		t.Error(err)
	}
}
