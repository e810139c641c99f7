package rediscluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
)

// form makes a cluster of the nodes: each master its share of the slots, each
// replica its master.
func (c *Cluster) form(ctx context.Context) error {
	for i, n := range c.Nodes {
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

// meet introduces every node to every other: gossip alone takes seconds more. Nodes that do not
// answer within the node timeout, on a machine that has no time for them, are introduced again.
func (c *Cluster) meet(ctx context.Context) error {
	for i, n := range c.Nodes {
		for _, other := range c.Nodes[:i] {
			if err := n.meet(ctx, other); err != nil {
				return err
			}
		}
	}
	return until(ctx, "is whole", func(ctx context.Context) (bool, error) {
		whole := true
		for _, n := range c.Nodes {
			members, err := n.members(ctx)
			if err != nil {
				return false, err
			}
			if anyFlag(members, "handshake") {
				whole = false
				continue
			}
			for _, other := range c.Nodes {
				if slices.ContainsFunc(members, func(m member) bool { return m.id == other.ID }) {
					continue
				}
				whole = false
				if err := n.meet(ctx, other); err != nil {
					return false, err
				}
			}
		}
		return whole, nil
	})
}

func (n *Node) meet(ctx context.Context, other *Node) error {
	host, port, err := net.SplitHostPort(other.Addr)
	if err != nil {
		return err
	}
	_, err = n.Do(ctx, "CLUSTER", "MEET", host, port, strconv.Itoa(other.bus))
	return err
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
