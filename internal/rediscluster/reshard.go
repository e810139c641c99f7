package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// MoveSlots moves slots from one master to another while clients work, key by key
// as redis-cli does it. For a node that was replaced since, it takes the one that replaced it. Meanwhile no replica replaces a master that gets
// no processor: in Redis 7 it would not know that a slot is half moved, and would serve its half.
func (c *Cluster) MoveSlots(ctx context.Context, slots []int, from, to int) (err error) {
	if err := c.failover(ctx, false); err != nil {
		return fmt.Errorf("cannot move slots: %w", err)
	}
	defer func() { err = errors.Join(err, c.failover(ctx, true)) }()
	from, errFrom := c.successor(ctx, from)
	to, errTo := c.successor(ctx, to)
	if err := errors.Join(errFrom, errTo); err != nil {
		return fmt.Errorf("cannot move slots: %w", err)
	}
	// The two may learn of a failover later than the node that was asked.
	if err := errors.Join(c.sees(ctx, from, to), c.sees(ctx, to, from)); err != nil {
		return fmt.Errorf("cannot move slots: %w", err)
	}
	masters, err := c.Masters(ctx)
	if err != nil {
		return fmt.Errorf("cannot move slots: %w", err)
	}
	m := move{c: c, from: c.Nodes[from], to: c.Nodes[to]}
	for _, i := range slices.Compact(slices.Sorted(slices.Values(append(masters, from, to)))) {
		conn, err := dial(ctx, c.Nodes[i].Addr, c.opt.Password)
		if err != nil {
			return fmt.Errorf("cannot move slots: %w", err)
		}
		defer conn.Close()
		switch i {
		case from:
			m.src = conn
		case to:
			m.dst = conn
		default:
			m.others = append(m.others, conn)
		}
	}
	for _, slot := range slots {
		if err := m.run(strconv.Itoa(slot)); err != nil {
			return fmt.Errorf("cannot move slot %d from %s to %s: %w", slot, m.from.Addr, m.to.Addr, err)
		}
	}
	return nil
}

// failover lets replicas replace masters, or forbids it.
func (c *Cluster) failover(ctx context.Context, may bool) error {
	forbid := map[bool]string{false: "yes", true: "no"}[may]
	for _, n := range c.Nodes {
		if n.PID() == 0 {
			continue
		}
		if _, err := n.Do(ctx, "CONFIG", "SET", "cluster-replica-no-failover", forbid); err != nil {
			return fmt.Errorf("cannot set whether %s may replace its master: %w", n.Addr, err)
		}
	}
	return nil
}

// sees waits until a node sees another one as a master.
func (c *Cluster) sees(ctx context.Context, viewer, other int) error {
	n, id := c.Nodes[viewer], c.Nodes[other].ID
	return until(ctx, fmt.Sprintf("sees on %s that %s is a master", n.Addr, c.Nodes[other].Addr), func(ctx context.Context) (bool, error) {
		members, err := n.members(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // a node that does not answer has not seen it yet
		}
		return slices.ContainsFunc(members, func(m member) bool { return m.id == id && m.is("master") }), nil
	})
}

// OccupiedSlots returns the slots that a node has keys in.
func (c *Cluster) OccupiedSlots(ctx context.Context, node int) ([]int, error) {
	conn, err := dial(ctx, c.Nodes[node].Addr, c.opt.Password)
	if err != nil {
		return nil, fmt.Errorf("cannot count keys: %w", err)
	}
	defer conn.Close()
	var occupied []int
	var commands []byte // one by one, they take seconds on a busy machine
	for slot := range Slots {
		commands = appendCommand(commands, "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot))
	}
	if _, err := conn.Write(commands); err != nil {
		return nil, fmt.Errorf("cannot count keys: %w", err)
	}
	for slot := range Slots {
		n, err := conn.reply()
		if err != nil {
			return nil, fmt.Errorf("cannot count keys: %w", err)
		}
		if n != int64(0) {
			occupied = append(occupied, slot)
		}
	}
	return occupied, nil
}

// move moves slots one by one.
type move struct {
	c        *Cluster
	src, dst *conn
	others   []*conn // of the other masters
	from, to *Node
}

func (m *move) run(slot string) error {
	if _, err := m.dst.do("CLUSTER", "SETSLOT", slot, "IMPORTING", m.from.ID); err != nil {
		return err
	}
	if _, err := m.src.do("CLUSTER", "SETSLOT", slot, "MIGRATING", m.to.ID); err != nil {
		return err
	}
	if err := m.keys(slot); err != nil {
		return err
	}
	// Notify the new owner first: otherwise neither of the two would serve the slot for a while.
	// Notify the other masters so that they need not wait for gossip.
	var refused ReplyError
	for i, c := range append([]*conn{m.dst, m.src}, m.others...) {
		_, err := c.do("CLUSTER", "SETSLOT", slot, "NODE", m.to.ID)
		if i > 1 && errors.As(err, &refused) {
			continue // it was replaced since; its successor learns of the move by gossip
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transient is how long a refused MIGRATE is repeated. A node on a busy machine may believe for some
// seconds that the cluster is down or that it has no replica.
const transient = 5 * time.Minute

// keys moves the keys of the slot.
func (m *move) keys(slot string) error {
	host, port, err := net.SplitHostPort(m.to.Addr)
	if err != nil {
		return err
	}
	for {
		reply, err := m.src.do("CLUSTER", "GETKEYSINSLOT", slot, "50")
		if err != nil {
			return err
		}
		keys, _ := reply.([]any)
		if len(keys) == 0 {
			return nil
		}
		args := []string{"MIGRATE", host, port, "", "0", "5000", "REPLACE"}
		if m.c.opt.Password != "" {
			args = append(args, "AUTH", m.c.opt.Password)
		}
		args = append(args, "KEYS")
		for _, k := range keys {
			args = append(args, fmt.Sprint(k))
		}
		if err := m.migrate(args); err != nil {
			return err
		}
	}
}

func (m *move) migrate(args []string) error {
	var refused ReplyError
	for end := time.Now().Add(transient); ; time.Sleep(100 * time.Millisecond) {
		_, err := m.src.do(args...)
		if !errors.As(err, &refused) || time.Now().After(end) {
			return err
		}
	}
}
