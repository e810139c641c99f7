package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// MoveSlots moves the slots first to last from one master to another while
// clients work, key by key as redis-cli does it.
func (c *Cluster) MoveSlots(ctx context.Context, first, last, from, to int) error {
	src, err := dial(ctx, c.Nodes[from].Addr, c.opt.Password)
	if err != nil {
		return fmt.Errorf("cannot move slots: %w", err)
	}
	defer src.Close()
	dst, err := dial(ctx, c.Nodes[to].Addr, c.opt.Password)
	if err != nil {
		return fmt.Errorf("cannot move slots: %w", err)
	}
	defer dst.Close()
	for slot := first; slot <= last; slot++ {
		m := move{c, src, dst, c.Nodes[from], c.Nodes[to], strconv.Itoa(slot)}
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("cannot move slot %d from %s to %s: %w", slot, m.from.Addr, m.to.Addr, err)
		}
	}
	return nil
}

// move is the move of one slot.
type move struct {
	c        *Cluster
	src, dst *conn
	from, to *Node
	slot     string
}

func (m *move) run(ctx context.Context) error {
	if _, err := m.dst.do("CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.from.ID); err != nil {
		return err
	}
	if _, err := m.src.do("CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.to.ID); err != nil {
		return err
	}
	if err := m.keys(); err != nil {
		return err
	}
	// The new owner is told first: were it the last, both could be asked for a
	// while and neither would serve.
	for _, c := range []*conn{m.dst, m.src} {
		if _, err := c.do("CLUSTER", "SETSLOT", m.slot, "NODE", m.to.ID); err != nil {
			return err
		}
	}
	return m.tellOthers(ctx)
}

// keys moves the keys of the slot.
func (m *move) keys() error {
	host, port, err := net.SplitHostPort(m.to.Addr)
	if err != nil {
		return err
	}
	for {
		reply, err := m.src.do("CLUSTER", "GETKEYSINSLOT", m.slot, "50")
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
		if _, err := m.src.do(args...); err != nil {
			return err
		}
	}
}

// tellOthers tells the other masters at once, so that nobody waits for gossip.
func (m *move) tellOthers(ctx context.Context) error {
	masters, err := m.c.Masters(ctx)
	if err != nil {
		return err
	}
	for _, i := range masters {
		_, err := m.c.Nodes[i].Do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", m.to.ID)
		var refused ReplyError
		if errors.As(err, &refused) && strings.Contains(string(refused), "only") {
			continue // became a replica meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}
