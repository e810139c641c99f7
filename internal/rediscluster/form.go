package rediscluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// form makes a cluster of the nodes: each master its share of the slots, each
// replica its master.
func (c *Cluster) form(ctx context.Context) error {
	for i, n := range c.Nodes {
		id, err := n.Do(ctx, "CLUSTER", "MYID")
		if err != nil {
			return fmt.Errorf("cannot form the cluster: %w", err)
		}
		n.ID, _ = id.(string)
		if _, err := n.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return fmt.Errorf("cannot form the cluster: %w", err)
		}
	}
	for _, step := range []func(context.Context) error{c.giveSlots, c.meet, c.replicate} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("cannot form the cluster: %w", err)
		}
	}
	return c.WaitHealthy(ctx)
}

func (c *Cluster) giveSlots(ctx context.Context) error {
	m := c.opt.Masters
	for i, n := range c.Nodes[:m] {
		first, last := i*Slots/m, (i+1)*Slots/m-1
		if _, err := n.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return err
		}
	}
	return nil
}

// meet introduces every node to every other: gossip alone takes seconds more.
func (c *Cluster) meet(ctx context.Context) error {
	for i, n := range c.Nodes {
		for _, other := range c.Nodes[:i] {
			host, port, err := net.SplitHostPort(other.Addr)
			if err != nil {
				return err
			}
			if _, err := n.Do(ctx, "CLUSTER", "MEET", host, port, strconv.Itoa(other.bus)); err != nil {
				return err
			}
		}
	}
	return until(ctx, "is whole", func(ctx context.Context) (bool, error) {
		for _, n := range c.Nodes {
			members, err := n.members(ctx)
			if err != nil {
				return false, err
			}
			if len(members) != len(c.Nodes) || anyFlag(members, "handshake") {
				return false, nil
			}
		}
		return true, nil
	})
}

func (c *Cluster) replicate(ctx context.Context) error {
	for i, n := range c.Nodes[c.opt.Masters:] {
		master := c.Nodes[i/c.opt.ReplicasEach]
		if _, err := n.Do(ctx, "CLUSTER", "REPLICATE", master.ID); err != nil {
			return err
		}
	}
	return nil
}
