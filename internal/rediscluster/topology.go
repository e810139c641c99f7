package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// member is a line of CLUSTER NODES: a node as another one sees it.
type member struct {
	id, master string
	flags      []string
	slots      [][2]int // first and last
}

func (m member) is(flag string) bool { return slices.Contains(m.flags, flag) }

func anyFlag(ms []member, flag string) bool {
	return slices.ContainsFunc(ms, func(m member) bool { return m.is(flag) })
}

// members asks the node for its view of the cluster.
func (n *Node) members(ctx context.Context) ([]member, error) {
	reply, err := n.Do(ctx, "CLUSTER", "NODES")
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s for the cluster: %w", n.Addr, err)
	}
	text, _ := reply.(string)
	var all []member
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			return nil, fmt.Errorf("cannot read CLUSTER NODES; got %q; want 8 fields or more", line)
		}
		m := member{id: f[0], master: strings.TrimLeft(f[3], "-"), flags: strings.Split(f[2], ",")}
		for _, s := range f[8:] {
			if r, ok := parseSlots(s); ok {
				m.slots = append(m.slots, r)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// parseSlots reads "5" or "0-100"; slots that are on their way ("[5->-…]") are skipped.
func parseSlots(s string) (r [2]int, ok bool) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(last)
	return [2]int{a, b}, errA == nil && errB == nil
}

// ask returns the view of the cluster that most masters it knows share: that of the first
// node that answers and isn't cut off.
func (c *Cluster) ask(ctx context.Context) ([]member, error) {
	var errs []error
	for _, n := range c.Nodes {
		if n.PID() == 0 {
			continue
		}
		short, cancel := context.WithTimeout(ctx, c.opt.NodeTimeout)
		members, err := n.members(short)
		cancel()
		if err == nil && !c.cutOff(members) {
			return members, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("cannot find a node that answers: %w", errors.Join(errs...))
}

// cutOff reports whether a view is that of a node that sees less than half of the others.
func (c *Cluster) cutOff(view []member) bool {
	failing := 0
	for _, m := range view {
		if m.is("fail") || m.is("fail?") {
			failing++
		}
	}
	return failing*2 > len(view)
}

// index returns the place in Nodes of a node's name, -1 for none.
func (c *Cluster) index(id string) int {
	return slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.ID == id })
}

// Master waits until a slot has a master that lives, and returns its index in Nodes. One that gets no
// processor for NodeTimeout is taken for dead until it does.
func (c *Cluster) Master(ctx context.Context, slot int) (int, error) {
	return c.waitFor(ctx, fmt.Sprintf("has a master of slot %d", slot), func(m member) bool {
		return m.is("master") && !m.is("fail") && slices.ContainsFunc(m.slots, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
	})
}

// successor waits until a node that was a master, or the one that replaced it, is one, and returns its index.
func (c *Cluster) successor(ctx context.Context, was int) (int, error) {
	now := -1
	err := until(ctx, fmt.Sprintf("has a master in place of %s", c.Nodes[was].Addr), func(ctx context.Context) (bool, error) {
		members, err := c.ask(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // who doesn't answer now may in a moment
		}
		id := c.Nodes[was].ID
		for _, m := range members {
			if m.id == id && m.is("slave") {
				id = m.master
				break
			}
		}
		for _, m := range members {
			if m.id == id && m.is("master") && !m.is("fail") && len(m.slots) > 0 {
				now = c.index(id)
			}
		}
		return now >= 0, nil
	})
	return now, err
}

// Masters returns the indices of the masters that live and own slots.
func (c *Cluster) Masters(ctx context.Context) ([]int, error) {
	return c.pick(ctx, func(m member) bool { return m.is("master") && !m.is("fail") && len(m.slots) > 0 })
}

// Replicas returns the indices of the replicas of a node that live.
func (c *Cluster) Replicas(ctx context.Context, master int) ([]int, error) {
	return c.pick(ctx, func(m member) bool { return m.is("slave") && !m.is("fail") && m.master == c.Nodes[master].ID })
}

// Replica waits until a node has a replica that lives, and returns its index. One that gets no
// processor for NodeTimeout is taken for dead until it does.
func (c *Cluster) Replica(ctx context.Context, master int) (int, error) {
	return c.waitFor(ctx, "has a replica", func(m member) bool {
		return m.is("slave") && !m.is("fail") && m.master == c.Nodes[master].ID
	})
}

// waitFor waits until there is a node that is wanted, and returns the first.
func (c *Cluster) waitFor(ctx context.Context, what string, want func(member) bool) (int, error) {
	first := -1
	err := until(ctx, what, func(ctx context.Context) (bool, error) {
		found, err := c.pick(ctx, want)
		if err != nil || len(found) == 0 {
			return false, nil //nolint:nilerr // who doesn't answer now may in a moment
		}
		first = found[0]
		return true, nil
	})
	return first, err
}

func (c *Cluster) pick(ctx context.Context, want func(member) bool) ([]int, error) {
	members, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, m := range members {
		if want(m) {
			found = append(found, c.index(m.id))
		}
	}
	slices.Sort(found)
	return found, nil
}

// WaitFailover waits until a node that was a master is one no more in the eyes of the
// others, and returns the index of the one that has its slot now.
func (c *Cluster) WaitFailover(ctx context.Context, old, slot int) (int, error) {
	now := -1
	err := until(ctx, "fails over", func(ctx context.Context) (bool, error) {
		m, err := c.Master(ctx, slot)
		now = m
		return m != old, err
	})
	return now, err
}

// Promote makes a replica the master of its shard, in an orderly way: the old
// master waits until the replica has all. A node that refuses, since the other one was silent for
// a moment, is asked again.
func (c *Cluster) Promote(ctx context.Context, replica int) error {
	n := c.Nodes[replica]
	var asked time.Time
	var refused ReplyError
	err := until(ctx, "is promoted", func(ctx context.Context) (bool, error) {
		info, err := n.Info(ctx, "replication")
		if err != nil || info["role"] == "master" {
			return err == nil, err
		}
		if time.Since(asked) < 6*time.Second { // a node abandons an attempt after 5 s
			return false, nil
		}
		asked = time.Now()
		if _, err = n.Do(ctx, "CLUSTER", "FAILOVER"); errors.As(err, &refused) {
			asked, err = time.Time{}, nil
		}
		return false, err
	})
	if err != nil && refused != "" {
		return errors.Join(err, refused)
	}
	return err
}

// WaitHealthy waits until all nodes that run see the same cluster and it is well: all
// slots served, no node failing, every other node a replica in sync with a master that knows it.
// If ctx ends first, the error names the node that was not well and why.
func (c *Cluster) WaitHealthy(ctx context.Context) error {
	var ill error
	err := until(ctx, "is healthy", func(ctx context.Context) (bool, error) {
		now := c.illness(ctx)
		if ctx.Err() == nil { // an answer cut short by ctx explains nothing
			ill = now
		}
		return now == nil, nil
	})
	return errors.Join(err, ill)
}

// illness returns why the cluster is not well, nil if it is.
func (c *Cluster) illness(ctx context.Context) error {
	replicas, attached, view := 0, 0, ""
	for _, n := range c.Nodes {
		if n.PID() == 0 {
			continue
		}
		short, cancel := context.WithTimeout(ctx, c.opt.NodeTimeout)
		h, err := n.health(short)
		cancel()
		if err != nil {
			return fmt.Errorf("node %s is not well: %w", n.Addr, err)
		}
		if view != "" && h.view != view {
			return fmt.Errorf("node %s sees another cluster than the nodes before it:\n%s\nthey see:\n%s", n.Addr, h.view, view)
		}
		view = h.view
		attached += h.replicas
		if h.isReplica {
			replicas++
		}
	}
	if replicas != attached {
		return fmt.Errorf("%d of %d replicas are in sync", attached, replicas)
	}
	return nil
}

// health is what a node reports of itself and the others.
type health struct {
	view      string // the master of each slot, the same text on nodes that agree
	isReplica bool
	replicas  int // in sync with this node
}

// health asks a node, and returns an error if it does not see all well.
func (n *Node) health(ctx context.Context) (h health, err error) {
	state, err := n.Do(ctx, "CLUSTER", "INFO")
	if err != nil {
		return h, err
	}
	if text, _ := state.(string); !strings.Contains(text, "cluster_state:ok") || !strings.Contains(text, "cluster_slots_ok:16384") {
		return h, errors.New("it does not see all slots served")
	}
	members, err := n.members(ctx)
	if err != nil {
		return h, err
	}
	for _, m := range members {
		switch {
		case m.is("fail?") || m.is("handshake"):
			return h, fmt.Errorf("it does not reach %s", m.id)
		case m.is("master") && !m.is("fail") && len(m.slots) == 0:
			return h, fmt.Errorf("it sees that %s has no slots and is no replica", m.id)
		}
	}
	h.view = viewOf(members)
	info, err := n.Info(ctx, "replication")
	if err != nil {
		return h, err
	}
	for name, value := range info {
		if strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online") {
			h.replicas++
		}
	}
	h.isReplica = info["role"] == "slave"
	if h.isReplica && info["master_link_status"] != "up" {
		return h, errors.New("its link to its master is down")
	}
	return h, nil
}

// viewOf is the text of a view: nodes in order of their names.
func viewOf(members []member) string {
	var lines []string
	for _, m := range members {
		lines = append(lines, fmt.Sprintln(m.id, m.master, m.is("master"), m.is("fail"), m.slots))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
