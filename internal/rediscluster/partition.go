package rediscluster

import (
	"context"
	"errors"
	"fmt"
)

// Isolate cuts a master off from the other nodes, but not from its clients, as when a network splits
// and some clients are on its side. Messages between it and the other nodes are lost, and it cannot
// replicate. The cluster must have been started with Options.Partitions.
func (c *Cluster) Isolate(ctx context.Context, i int) error {
	if c.net == nil {
		return errors.New("cannot isolate; got a cluster without a network between its nodes; want Options.Partitions")
	}
	c.net.isolate(i)
	return c.CutReplicas(ctx, i)
}

// Rejoin ends what Isolate began.
func (c *Cluster) Rejoin(ctx context.Context, i int) error {
	c.net.rejoin(i)
	return c.replication(ctx, i, "+psync", "+sync")
}

// CutReplicas stops replication from a master until the master is restarted or rejoins. This is more
// than a pause: a paused replica later finds in its socket much of the data that its master sent; a
// replica that is cut off never receives it.
func (c *Cluster) CutReplicas(ctx context.Context, i int) error {
	return c.replication(ctx, i, "-psync", "-sync")
}

// replication allows or forbids the replicas of a node to ask for its data, and
// ends their connections.
func (c *Cluster) replication(ctx context.Context, i int, rules ...string) error {
	n := c.Nodes[i]
	for _, args := range [][]string{append([]string{"ACL", "SETUSER", "default"}, rules...), {"CLIENT", "KILL", "TYPE", "REPLICA"}} {
		if _, err := n.Do(ctx, args...); err != nil {
			return fmt.Errorf("cannot change what the replicas of %s get: %w", n.Addr, err)
		}
	}
	return nil
}
