package rediscluster

import (
	"errors"
	"testing"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// Single starts one server that isn't in cluster mode and keeps nothing on disk, with
// further lines of configuration, and returns its address. It ends with the test.
func Single(t testing.TB, config ...string) (addr string) {
	t.Helper()
	return StartFor(t, Options{Config: append([]string{"appendonly no"}, config...)}).Nodes[0].Addr
}

// New starts a cluster of masters with replicasEach replicas each, and further
// lines of configuration. It ends with the test.
func New(t testing.TB, masters, replicasEach int, config ...string) *Cluster {
	t.Helper()
	return StartFor(t, Options{Masters: masters, ReplicasEach: replicasEach, Config: config})
}

// NewPartitionable starts a cluster like New, with a network between its nodes
// that Isolate can cut.
func NewPartitionable(t testing.TB, masters, replicasEach int, config ...string) *Cluster {
	t.Helper()
	return StartFor(t, Options{Masters: masters, ReplicasEach: replicasEach, Config: config, Partitions: true})
}

// StartFor starts servers like Start. They end with the test. Without a redis-server, the test is skipped.
func StartFor(t testing.TB, opt Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Redis servers")
	}
	c, err := Start(hang.Context(t), opt)
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
