package redisstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// refusal bounds the time in which writes are refused, on a cluster whose nodes
// take a second of silence for death.
const refusal = 5 * time.Second

// supervised is how long it takes until a supervisor has started a dead server again.
const supervised = time.Second

type fault struct {
	name    string
	refused time.Duration // the longest time without an answer
	long    bool          // for torture only: another fault is much like it
	leases  bool          // there are leases as well; in the torture always
	do      func(t *torture)
}

var faults = []fault{
	{"MasterKilled", refusal, false, true, func(t *torture) {
		old := t.master(0)
		// With everysec, its file would lack what a slow disk has held up, and it may be back before its replica is
		// promoted: see docs/REDIS.md.
		_, err := t.cluster.Nodes[old].Do(t.ctx, "CONFIG", "SET", "appendfsync", "always")
		t.check(err)
		t.check(t.cluster.Nodes[old].Kill())
		t.after(supervised)
		t.check(t.cluster.Nodes[old].Restart(t.ctx))
	}},
	{"MasterKilledForLonger", 2 * refusal, true, false, func(t *torture) {
		old := t.master(8000)
		t.check(t.cluster.Nodes[old].Kill())
		t.failOver(old, 8000)
	}},
	{"ReplicaLagsMasterKilled", refusal + lag, false, true, func(t *torture) { t.killLagging(0) }},
	{"ReplicaCutOffMasterKilled", refusal + lag, true, false, func(t *torture) { t.killCutOff(0, func() { t.after(lag) }) }},
	{"MasterPaused", refusal, false, false, func(t *torture) {
		old := t.master(0)
		t.check(t.cluster.Nodes[old].Stop())
		_, err := t.cluster.WaitFailover(t.ctx, old, 0)
		t.check(err)
		t.check(t.cluster.Nodes[old].Cont())
	}},
	{"ReplicaPausedForAMoment", refusal, true, false, func(t *torture) {
		replica := t.replica(t.master(0))
		t.check(t.cluster.Nodes[replica].Stop())
		t.after(700 * time.Millisecond)
		t.check(t.cluster.Nodes[replica].Cont())
	}},
	{"Resharded", refusal, false, false, func(t *torture) {
		from, to := t.master(0), t.master(16383)
		slots, err := t.cluster.OccupiedSlots(t.ctx, from)
		t.check(err)
		t.check(t.cluster.MoveSlots(t.ctx, slots, from, to))
		t.check(t.cluster.MoveSlots(t.ctx, slots, to, from))
	}},
	{"MasterCutOff", 2 * refusal, false, false, func(t *torture) {
		old := t.master(0)
		t.check(t.cluster.Isolate(t.ctx, old))
		_, err := t.cluster.WaitFailover(t.ctx, old, 0)
		t.check(err)
		t.check(t.cluster.Rejoin(t.ctx, old))
	}},
	{"Switchover", refusal, false, false, func(t *torture) {
		replica := t.replica(t.master(0))
		t.check(t.cluster.Promote(t.ctx, replica))
	}},
	{"ScriptsFlushed", refusal, false, true, func(t *torture) {
		for range 20 {
			for _, n := range t.cluster.Nodes {
				_, err := n.Do(t.ctx, "SCRIPT", "FLUSH")
				t.check(err)
			}
			t.after(50 * time.Millisecond)
		}
	}},
	{"NodeFull", refusal, true, false, func(t *torture) {
		full := t.cluster.Nodes[t.master(0)]
		for _, bytes := range []string{"1mb", "0"} {
			_, err := full.Do(t.ctx, "CONFIG", "SET", "maxmemory", bytes)
			t.check(err)
			t.after(2 * time.Second)
		}
	}},
	{"ReshardedWaiting", refusal, true, false, func(t *torture) {
		waiting := int64(20_000)
		if torturing() {
			waiting = 1_000_000
		}
		s, items := t.patient(), []store.Item(nil)
		for n := range waiting {
			it := item(5_000_000 + n)
			it.Due = time.Now().Add(time.Hour)
			if items = append(items, it); len(items) == 5000 {
				_, err := s.Add(t.ctx, "waiting", items, store.AddOptions{})
				t.check(err)
				items = items[:0]
			}
		}
		from, to := t.master(0), t.master(16383)
		slots, err := t.cluster.OccupiedSlots(t.ctx, from)
		t.check(err)
		t.check(t.cluster.MoveSlots(t.ctx, slots, from, to))
		t.check(t.cluster.MoveSlots(t.ctx, slots, to, from))
		st, err := s.Stats(t.ctx, "waiting")
		t.check(err)
		if st.Held != waiting {
			t.Errorf("got %d URLs waiting after their slots moved; want %d", st.Held, waiting)
		}
	}},
}

// lag is how long a replica is paused before its master dies.
const lag = 1500 * time.Millisecond

// TestClusterFaults: nothing acknowledged is lost, nothing is new twice, and writes
// are refused only for a while, whatever happens to a node. With some faults, others take what they add in another store: see leases.
func TestClusterFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks a real cluster again and again")
	}
	t.Parallel()
	c := rediscluster.NewPartitionable(t, 3, 1)
	for round := range rounds(t) {
		for i, f := range faults {
			if f.long && !torturing() {
				continue
			}
			ok := t.Run(f.name, func(t *testing.T) {
				tt := newTorture(t, c, round)
				fault := func() { f.do(tt) }
				if !f.leases && !torturing() {
					tt.during(fault)
					tt.verdict(f.refused)
					return
				}
				l := newLeases(newTorture(t, c, round), i%4 == 2)
				tt.during(func() { l.run(fault) })
				tt.verdict(f.refused)
				l.drain()
				l.settled(l.patient())
			})
			if !ok { // a fault that did not end would fail the others as well
				return
			}
		}
	}
	if torturing() { // TestANodeIsAddedWithTLS does the same, and more
		t.Run("NodeAdded", func(t *testing.T) { addNode(newTorture(t, c, 0)) })
	}
}

// addNode adds a master and its replica as docs/REDIS.md says, under load. While the master has no replica, a check of the servers
// refuses it. The environment is that of redis-cli.
func addNode(t *torture, env ...string) {
	t.shards = 32 // so each run of 512 slots has a key
	page, err := os.ReadFile("../../docs/REDIS.md")
	t.check(err)
	_, block, _ := strings.Cut(string(page), "NEW=")
	_, block, _ = strings.Cut(block, "\n")
	block, _, _ = strings.Cut(block, "```")
	const configure, last = "$CLI -u redis://$NEW config set", "$CLI --cluster rebalance"
	first, second, found := strings.Cut(block, configure)
	if _, err := exec.LookPath("redis-cli"); err != nil || !found {
		t.Skipf("got %v, found %v; want redis-cli, and the commands of docs/REDIS.md", err, found)
	}
	c := t.cluster
	any, n := t.addr(c.Nodes[t.master(0)]), len(c.Nodes)
	t.check(errors.Join(c.Add(t.ctx, 1, "min-replicas-to-write 0"), c.Add(t.ctx, 1)))
	master := c.Nodes[n]
	sh := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.ctx, "sh", "-euc", script)
		cmd.Env = append(append(os.Environ(), "CLI=redis-cli", "NEW="+t.addr(master), "REPLICA="+t.addr(c.Nodes[n+1]), "ANY="+any), env...)
		cmd.WaitDelay = time.Second // redis-cli outlives its shell, and may wait for nodes for ever
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.during(func() {
		sh(first)
		s := t.patient()
		want := "redis server " + t.addr(master) + " has min-replicas-to-write"
		t.until(func() bool { // gossip tells the node that is asked
			err := s.CheckServers(t.ctx)
			return errors.Is(err, store.ErrInvalid) && strings.Contains(err.Error(), want)
		})
		ready, rebalance, _ := strings.Cut(second, last)
		sh(configure + ready)
		t.check(s.CheckServers(t.ctx))
		if torturing() { // thousands of empty slots take minutes on a busy machine
			sh(last + rebalance)
		} else {
			from := c.Nodes[t.master(0)]
			sh("$CLI --cluster reshard $ANY --cluster-slots 512 --cluster-yes --cluster-from " + from.ID + " --cluster-to " + master.ID)
		}
		moved, err := c.OccupiedSlots(t.ctx, n)
		if t.check(err); len(moved) == 0 {
			t.Error("got no keys on the new node; want some")
		}
	})
	t.verdict(refusal)
}

// TestANodeIsAddedWithTLS does that on a cluster that wants TLS and a password.
func TestANodeIsAddedWithTLS(t *testing.T) {
	t.Parallel()
	const password = "secret"
	dir, o := t.TempDir(), rediscluster.Options{Masters: 1, ReplicasEach: 1, Password: password}
	o.NodeTimeout = 15 * time.Second // as by default: a handshake that takes longer is given up, and redis-cli waits for it for ever; no node dies in this test
	ca, cert, key := redisstore.Certificate(t)
	for path, text := range map[*string][]byte{&o.TLS.CA: ca, &o.TLS.Cert: cert, &o.TLS.Key: key} {
		f, err := os.CreateTemp(dir, "")
		if err == nil {
			_, err = f.Write(text)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		*path = f.Name()
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	tt := newTorture(t, rediscluster.StartFor(t, o), 0)
	tt.options.TLS = func(context.Context) (*tls.Config, error) { return &tls.Config{RootCAs: roots}, nil }
	tt.options.Credentials = func(context.Context) (string, string, error) { return "", password, nil }
	addNode(tt, "CLI=redis-cli --tls --cacert "+o.TLS.CA, "REDISCLI_AUTH="+password)
}

func (t *torture) master(slot int) int {
	t.Helper()
	m, err := t.cluster.Master(t.ctx, slot)
	t.check(err)
	return m
}

func (t *torture) replica(master int) int {
	t.Helper()
	r, err := t.cluster.Replica(t.ctx, master)
	t.check(err)
	return r
}

// killLagging pauses the replica of a slot's master, lets some time pass, kills the
// master and resumes the replica. Then the old master comes back.
func (t *torture) killLagging(slot int) {
	t.Helper()
	old := t.master(slot)
	replica := t.replica(old)
	t.check(t.cluster.Nodes[replica].Stop())
	t.after(lag)
	t.check(t.cluster.Nodes[old].Kill())
	t.check(t.cluster.Nodes[replica].Cont())
	t.failOver(old, slot)
}

// killCutOff is like killLagging, with a replica that is cut off: what the master
// does in the meantime is lost for certain. before is called then.
func (t *torture) killCutOff(slot int, before func()) {
	t.Helper()
	old := t.master(slot)
	t.check(t.cluster.CutReplicas(t.ctx, old))
	before()
	t.check(t.cluster.Nodes[old].Kill())
	t.failOver(old, slot)
}

// failOver waits until a dead master is replaced, and starts it again.
func (t *torture) failOver(old, slot int) {
	t.Helper()
	_, err := t.cluster.WaitFailover(t.ctx, old, slot)
	t.check(err)
	t.check(t.cluster.Nodes[old].Restart(t.ctx))
}

// TestABrokenCluster breaks a cluster in ways of which each has its own load.
func TestABrokenCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks a real cluster")
	}
	t.Parallel()
	c := rediscluster.New(t, 3, 1, "min-replicas-max-lag 3")
	for _, part := range []struct {
		name string
		do   func(*testing.T, *rediscluster.Cluster)
	}{
		{"CacheWhenItsMasterDies", redisstore.CacheWhenItsMasterDies},
		{"LeasesWithoutAReplica", withoutAReplica},
		{"DuplicateOfWhatWasNeverReplicated", neverReplicated},
		{"WithoutWaitingForReplicasSomeAreLost", someAreLost},
		{"LeasesWithoutAMaster", withoutAMaster},
		{"ShardOutOfReach", redisstore.ShardOutOfReach},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.do(t, c) }) { // what is still broken would fail the others as well
			return
		}
	}
}

// replicas sets how many replicas a master must have to take a write.
func (t *torture) replicas(n string) {
	t.Helper()
	for _, node := range t.cluster.Nodes {
		_, err := node.Do(t.ctx, "CONFIG", "SET", "min-replicas-to-write", n)
		t.check(err)
	}
}

// someAreLost shows that other tests could fail: without waiting for a replica, something is lost.
func someAreLost(t *testing.T, c *rediscluster.Cluster) {
	tt := newTorture(t, c, 0)
	tt.options.Replicas = -1
	tt.replicas("0")
	tt.during(func() { tt.killCutOff(0, func() { tt.answered(1000) }) })
	if lost, _ := tt.lost(); lost == 0 {
		t.Error("nothing was lost; want something, so that the other tests mean something")
	}
	tt.replicas("1")
}

// neverReplicated has a daemon A add URLs that never reach the replica; B offers the same ones, and
// the master knows them. A daemon that answers "duplicate" then, and loses the master, is
// wrong: no node has the URLs.
func neverReplicated(t *testing.T, c *rediscluster.Cluster) {
	tt := newTorture(t, c, 0)
	a, b, reader := tt.openShards(1), tt.openShards(1), tt.openWaiting(1, 4*time.Second, hang.Limit)
	tt.replicas("0") // or the master would refuse at once
	var urls []int64
	for i := range int64(100) {
		urls = append(urls, i)
	}
	tt.next.Store(2 * 99)
	reply, err := c.Nodes[0].Do(tt.ctx, "CLUSTER", "KEYSLOT", "{0}")
	tt.check(err)
	slot := int(reply.(int64)) // of the only shard
	var answers sync.WaitGroup
	tt.killCutOff(slot, func() {
		answers.Go(func() { tt.add(a, urls) })
		tt.until(func() bool {
			st, err := reader.Stats(tt.ctx, "c")
			tt.check(err)
			return st.Seen == 100
		})
		answers.Go(func() { tt.add(b, urls) })
		tt.after(lag)
		tt.ledger.mu.Lock()
		defer tt.ledger.mu.Unlock()
		if n := len(tt.ledger.acked); n > 0 {
			t.Errorf("%d URLs were answered while no replica had them; want none", n)
		}
	})
	answers.Wait()
	tt.check(c.WaitHealthy(tt.ctx))
	tt.replicas("1")
	// A call that was refused had an unknown outcome: it may have been tried again on the new master, without an answer in time.
	if st, err := reader.Stats(tt.ctx, "c"); err != nil || st.Seen < int64(len(tt.ledger.acked)) || tt.ledger.failed == 0 && st.Seen > int64(len(tt.ledger.acked)) {
		t.Errorf("the new master knows %d URLs (%v), %d were answered and %d batches refused; want what nobody heard of to be gone", st.Seen, err, len(tt.ledger.acked), tt.ledger.failed)
	}
	tt.verdict(time.Minute)
}
