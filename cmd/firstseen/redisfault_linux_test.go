package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestMasterDiesUnderDaemons kills a master of the cluster while two daemons are
// offered the same URLs. Clients see FAIL where the promise can't be met, and
// otherwise the truth: one OK a URL at most, never SKIPPED for both, and all that
// was acknowledged is there afterwards, once.
func TestMasterDiesUnderDaemons(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t)
	flags := []string{"--redis", withSetting(addrs, "retry=4s"), "--delay", "0"}
	daemons := []*daemon{startDaemonOn(t, flags...), startDaemonOn(t, flags...)}
	l := &faultLedger{told: make(map[string][]pb.AckMessage_Status)}
	ctx, cancel := context.WithCancel(hang.Context(t))
	defer cancel()
	var writers sync.WaitGroup
	for _, d := range daemons {
		writers.Go(func() { l.offer(ctx, t, d.client()) })
	}
	l.waitFor(ctx, pb.AckMessage_OK, 400)
	killMaster(t, strings.Split(addrs, ","))
	l.waitFor(ctx, pb.AckMessage_FAIL, 100) // the shard's last copy is not enough
	cancel()
	writers.Wait()
	l.check(t)
	// The shard that failed over has no replica now, so its server and the daemon have to ask for none.
	askForNoReplica(t, strings.Split(addrs, ","))
	fresh := startDaemonOn(t, "--redis", withSetting(addrs, "replicas=0"))
	l.checkKnown(t, fresh.client())
	l.checkQueued(t, fresh.client())
}

// faultLedger records the answers that clients received for each URL.
type faultLedger struct {
	mu    sync.Mutex
	told  map[string][]pb.AckMessage_Status
	count [3]int // by status
}

// offer offers batches of URLs, of many hosts, until ctx ends.
func (l *faultLedger) offer(ctx context.Context, t *testing.T, c pb.URLFrontierClient) {
	for first := 0; ctx.Err() == nil; first += 40 {
		urls := make([]string, 40)
		for i := range urls {
			urls[i] = fmt.Sprintf("http://host%d.example/%d", (first+i)%200, first+i)
		}
		acks, err := ackAll(context.WithoutCancel(ctx), c, urls)
		if err != nil {
			t.Errorf("offering: %v", err)
			return
		}
		l.mu.Lock()
		for u, status := range acks {
			l.told[u] = append(l.told[u], status)
			l.count[status]++
		}
		l.mu.Unlock()
	}
}

// ackAll puts URLs and returns the acks.
func ackAll(ctx context.Context, c pb.URLFrontierClient, urls []string) (map[string]pb.AckMessage_Status, error) {
	stream, err := c.PutURLs(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range urls {
		item := &pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: u}}}}
		if err := stream.Send(item); err != nil {
			return nil, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	acks := make(map[string]pb.AckMessage_Status, len(urls))
	for {
		ack, err := stream.Recv()
		if errors.Is(err, io.EOF) && len(acks) == len(urls) {
			return acks, nil
		}
		if err != nil {
			return nil, fmt.Errorf("got %d acks; want %d: %w", len(acks), len(urls), err)
		}
		acks[ack.ID] = ack.Status
	}
}

// waitFor waits until so many URLs got a status.
func (l *faultLedger) waitFor(ctx context.Context, status pb.AckMessage_Status, n int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for enough := false; !enough && ctx.Err() == nil; <-tick.C {
		l.mu.Lock()
		enough = l.count[status] >= n
		l.mu.Unlock()
	}
}

// askForNoReplica lets the servers that are there write without a replica, as docs/REDIS.md says.
func askForNoReplica(t *testing.T, addrs []string) {
	t.Helper()
	set := 0
	for _, addr := range addrs {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		if c.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err() == nil {
			set++
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if set < len(addrs)-1 {
		t.Fatalf("got the setting on %d servers; want all but the dead one of %d", set, len(addrs))
	}
}

// killMaster kills the first master there is, without a word to anybody.
func killMaster(t *testing.T, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		c := redis.NewClient(&redis.Options{Addr: addr})
		role, err := c.Info(t.Context(), "replication").Result()
		server, err2 := c.Info(t.Context(), "server").Result()
		if err := errors.Join(err, err2, c.Close()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(role, "role:master") {
			continue
		}
		_, rest, _ := strings.Cut(server, "process_id:")
		pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("got no master")
}

func (l *faultLedger) check(t *testing.T) {
	t.Helper()
	t.Logf("%d URLs; told OK %d, SKIPPED %d, FAIL %d", len(l.told), l.count[pb.AckMessage_OK], l.count[pb.AckMessage_SKIPPED], l.count[pb.AckMessage_FAIL])
	if l.count[pb.AckMessage_FAIL] == 0 {
		t.Error("no client was told FAIL; want it where a shard had no replica")
	}
	for u, told := range l.told {
		var n [3]int
		for _, status := range told {
			n[status]++
		}
		// If one of two answers is missing at the end, the other client may have received OK.
		if n[pb.AckMessage_OK] > 1 || len(told) == 2 && n[pb.AckMessage_SKIPPED] == 2 {
			t.Errorf("%s: told %v; want OK once, or FAIL", u, told)
		}
	}
}

// acknowledged returns the URLs that were acknowledged to a client.
func (l *faultLedger) acknowledged() (urls []string) {
	for u, told := range l.told {
		for _, status := range told {
			if status != pb.AckMessage_FAIL {
				urls = append(urls, u)
				break
			}
		}
	}
	return urls
}

// checkKnown offers all that was acknowledged again.
func (l *faultLedger) checkKnown(t *testing.T, c pb.URLFrontierClient) {
	t.Helper()
	acks, err := ackAll(t.Context(), c, l.acknowledged())
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for u, status := range acks {
		if status != pb.AckMessage_SKIPPED {
			lost++
			t.Logf("%s: %v", u, status)
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged URLs are not known", lost, len(acks))
	}
}

// checkQueued leases everything, and checks that each acknowledged URL is there once. A step that
// ended with FAIL half done is completed by a daemon that finds it some seconds later.
func (l *faultLedger) checkQueued(t *testing.T, c pb.URLFrontierClient) {
	t.Helper()
	want, times := l.acknowledged(), make(map[string]int)
	late := func(u string) bool { return times[u] == 0 }
	for end := time.Now().Add(hang.Limit); slices.ContainsFunc(want, late) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, u := range getURLs(t, c, &pb.GetParams{DelayRequestable: 3600}) {
			times[u]++
		}
	}
	for _, u := range want {
		if times[u] != 1 {
			t.Errorf("%s: handed out %d times; told %v; want once", u, times[u], l.told[u])
		}
	}
}
