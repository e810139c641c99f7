package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

func TestSingleAnswers(t *testing.T) {
	addr := Single(t)
	c, err := dial(t.Context(), addr, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if reply, err := c.do("INFO", "server"); err != nil || reply == "" {
		t.Fatalf("got %v, %v; want what the server is", reply, err)
	}
}

// TestEndOfContextIsTold checks that until returns the error of its context even if a connection
// times out first.
func TestEndOfContextIsTold(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := until(ctx, "answers", func(ctx context.Context) (bool, error) {
		<-ctx.Done()
		return false, os.ErrDeadlineExceeded
	})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got error %v; want both deadlines", err)
	}
}

// TestCluster breaks a cluster in one way after the other.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := NewPartitionable(t, 3, 1)
	for _, part := range []struct {
		name string
		do   func(*testing.T, *Cluster)
	}{
		{"MasterDies", masterDies},
		{"SlotsMove", slotsMove},
		{"MissingIsReported", missingIsReported},
		{"ReplacedMasterFollows", replacedMasterFollows},
		{"DeadForAMoment", deadForAMoment},
		{"SlotsMoveAfterAFailover", slotsMoveAfterAFailover},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.do(t, c) }) { // what is still broken would fail the others as well
			return
		}
	}
}

// masterDies has a replica take over, and gives its master its place back.
func masterDies(t *testing.T, c *Cluster) {
	ctx := hang.Context(t)
	master := must(c.Master(ctx, 0))(t)
	if master != 0 {
		t.Fatalf("master of slot 0 is %d; want 0", master)
	}
	if got := must(c.Replicas(ctx, 0))(t); len(got) != 1 || got[0] != 3 {
		t.Fatalf("replicas of 0 are %v; want [3]", got)
	}
	check(t, c.Nodes[0].Kill())
	if now := must(c.WaitFailover(ctx, 0, 0))(t); now != 3 {
		t.Fatalf("slot 0 went to %d; want 3", now)
	}
	check(t, c.Nodes[0].Restart(ctx))
	check(t, c.WaitHealthy(ctx))
	check(t, c.Promote(ctx, 0))
	check(t, c.WaitHealthy(ctx))
	if now := must(c.Master(ctx, 0))(t); now != 0 {
		t.Errorf("slot 0 is at %d after the promotion; want 0", now)
	}
}

// slotsMove moves a slot with its keys.
func slotsMove(t *testing.T, c *Cluster) {
	ctx := hang.Context(t)
	first := must(c.Nodes[0].Do(ctx, "CLUSTER", "KEYSLOT", "{a1}"))(t).(int64)
	from := must(c.Master(ctx, int(first)))(t)
	for i := range 120 {
		must(c.Nodes[from].Do(ctx, "SET", fmt.Sprintf("{a1}%d", i), "x"))(t)
	}
	if got := must(c.OccupiedSlots(ctx, from))(t); !slices.Equal(got, []int{int(first)}) {
		t.Errorf("slots %v have keys; want %d", got, first)
	}
	to := must(c.Master(ctx, (int(first)+Slots/2)%Slots))(t)
	moved := make(chan error)
	check(t, c.Nodes[to].Stop()) // for so long that its replica would replace it
	go func() { moved <- c.MoveSlots(ctx, []int{int(first)}, from, to) }()
	time.Sleep(2500 * time.Millisecond)
	check(t, c.Nodes[to].Cont())
	check(t, <-moved)
	if got := must(c.Nodes[to].Do(ctx, "CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(first)))(t); got != int64(120) {
		t.Errorf("the new owner has %v keys; want 120", got)
	}
	check(t, c.WaitHealthy(ctx))
}

// missingIsReported checks that the error of a wait that ends names the node and the cause.
func missingIsReported(t *testing.T, c *Cluster) {
	ctx := hang.Context(t)
	check(t, c.Nodes[5].Stop())
	for named := false; !named; {
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := c.WaitHealthy(short)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got error %v; want a deadline", err)
		}
		named = strings.Contains(err.Error(), c.Nodes[5].Addr)
		if !named && ctx.Err() != nil { // on a busy machine another node may answer late, for once
			t.Fatalf("got error %v; want one that names %s", err, c.Nodes[5].Addr)
		}
	}
	check(t, c.Nodes[5].Cont())
	check(t, c.WaitHealthy(ctx))
}

// deadForAMoment holds that a replica is found, and promoted, once its master
// and it are back.
func deadForAMoment(t *testing.T, c *Cluster) {
	ctx := hang.Context(t)
	old := must(c.Master(ctx, 0))(t)
	heir := must(c.Replica(ctx, old))(t)
	failover := func(no string) {
		must(c.Nodes[heir].Do(ctx, "CONFIG", "SET", "cluster-replica-no-failover", no))(t)
	}
	failover("yes")
	dead := func(ctx context.Context) (bool, error) {
		members, err := c.Nodes[heir].members(ctx)
		return slices.ContainsFunc(members, func(m member) bool { return m.id == c.Nodes[old].ID && m.is("fail") }), err
	}
	check(t, c.Nodes[old].Kill())
	check(t, until(ctx, "misses its master", dead))
	for refused := ReplyError(""); refused == "" && ctx.Err() == nil; { // on a busy machine the node may answer late
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := c.Promote(short, heir)
		if cancel(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got error %v; want that it waited", err)
		}
		_ = errors.As(err, &refused)
	}
	check(t, c.Nodes[old].Restart(ctx))
	check(t, c.Promote(ctx, heir))
	check(t, c.WaitHealthy(ctx))

	check(t, c.Nodes[old].Kill())
	check(t, until(ctx, "misses its replica", dead))
	found := make(chan int)
	go func() {
		r, err := c.Replica(ctx, heir)
		if err != nil {
			t.Error(err)
		}
		found <- r
	}()
	check(t, c.Nodes[old].Restart(ctx))
	if r := <-found; r != old {
		t.Errorf("got replica %d; want %d", r, old)
	}
	failover("no")
	check(t, c.WaitHealthy(ctx))
}

// slotsMoveAfterAFailover moves slots from a node that a replica has replaced meanwhile, while that
// replica gets no processor for longer than the node timeout.
func slotsMoveAfterAFailover(t *testing.T, c *Cluster) {
	ctx := hang.Context(t)
	from, to := must(c.Master(ctx, 0))(t), must(c.Master(ctx, 16383))(t)
	heir := must(c.Replica(ctx, from))(t)
	check(t, c.Promote(ctx, heir))
	check(t, c.Nodes[heir].Stop())
	stopped := c.Nodes[heir]
	time.AfterFunc(1500*time.Millisecond, func() { _ = stopped.Cont() })
	time.Sleep(1200 * time.Millisecond)
	check(t, c.MoveSlots(ctx, []int{0}, from, to))
	check(t, until(ctx, "has slot 0 at its new master", func(ctx context.Context) (bool, error) { // as a replica may learn later
		now, err := c.Master(ctx, 0)
		return now == to, err
	}))
	check(t, c.WaitHealthy(ctx))
}

// replacedMasterFollows checks that a master that was cut off becomes a replica of the node that
// replaced it even if that node has got further slots by then, and that the cluster is not healthy before.
func replacedMasterFollows(t *testing.T, c *Cluster) {
	ctx := hang.Context(t)
	old, other := must(c.Master(ctx, 0))(t), must(c.Master(ctx, 16000))(t)
	heir := must(c.Replica(ctx, old))(t)
	check(t, c.Isolate(ctx, old))
	if now := must(c.WaitFailover(ctx, old, 0))(t); now != heir {
		t.Fatalf("slot 0 went to %d; want %d", now, heir)
	}
	check(t, c.MoveSlots(ctx, []int{16000}, other, heir))
	check(t, c.Rejoin(ctx, old))
	check(t, c.WaitHealthy(ctx))
	if got := must(c.Replicas(ctx, heir))(t); !slices.Equal(got, []int{old}) {
		t.Errorf("got replicas %v of the new master; want the old one", got)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}
