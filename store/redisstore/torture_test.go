package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// The tests here break a real cluster under load, and compare the answers of
// daemons with those of the cluster and a fresh daemon afterwards.

var tortureIdentity = store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash", Unicode: "15.0.0"}

// torture is a cluster that daemons write to.
type torture struct {
	*testing.T
	ctx     context.Context
	cluster *rediscluster.Cluster
	prefix  string
	options redisstore.Options // of the daemons
	shards  int
	daemons []*redisstore.Store

	next   atomic.Int64 // half the number of the next URL
	ledger ledger
	stop   context.CancelFunc
	load   sync.WaitGroup
}

// ledger is what the daemons answered.
type ledger struct {
	mu      sync.Mutex
	news    map[int64]int  // how often a URL was called new
	acked   map[int64]bool // it was called new or duplicate
	failed  int            // batches that were refused
	refusal error          // why the last one was
	strange []error        // errors that no client should see
	last    time.Time      // of the last answer, while answers are timed
	gap     time.Duration  // the longest time without one
}

// rounds is how often each fault is done.
func rounds(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N")); err == nil {
		return n
	}
	if torturing() {
		return 25
	}
	return 1
}

func torturing() bool { return os.Getenv("FIRSTSEEN_TORTURE") == "1" }

// newTorture begins a round on a cluster that is well, with a store of its own.
func newTorture(t *testing.T, c *rediscluster.Cluster, round int) *torture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang.Limit) // a round takes 10 to 20 s on a machine that has nothing else to do
	t.Cleanup(cancel)
	tt := &torture{T: t, ctx: ctx, cluster: c, prefix: fmt.Sprintf("%s-%d:", t.Name(), round), shards: 8}
	if torturing() {
		tt.shards = 32
	}
	tt.ledger.news, tt.ledger.acked = make(map[int64]int), make(map[int64]bool)
	tt.check(c.WaitHealthy(ctx))
	return tt
}

func (t *torture) open() *redisstore.Store { return t.openShards(t.shards) }

// patient opens a daemon that is to be answered: a starved replica may take longer than those under
// load wait.
func (t *torture) patient() *redisstore.Store {
	return t.openWaiting(t.shards, 4*time.Second, hang.Limit)
}

func (t *torture) openShards(n int) *redisstore.Store {
	return t.openWaiting(n, 300*time.Millisecond, 5*time.Second)
}

func (t *torture) openWaiting(n int, wait, retryFor time.Duration) *redisstore.Store {
	t.Helper()
	o := t.options
	for _, node := range t.cluster.Nodes {
		o.Addrs = append(o.Addrs, t.addr(node))
	}
	o.Prefix, o.Shards, o.CacheBytes = t.prefix, n, 64<<10
	o.RetryFor = retryFor
	var s *redisstore.Store
	t.until(func() (opened bool) { // a starved replica may be late even for this
		var err error
		if s, err = redisstore.Open(t.ctx, o.Waiting(wait)); err == nil {
			if err = s.Prepare(t.ctx, store.Terms{Identity: tortureIdentity}); err != nil {
				t.check(s.Close())
			}
		}
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	t.Cleanup(func() { _ = s.Close() }) // its promises were checked before
	return s
}

// addr is where daemons reach a node.
func (t *torture) addr(n *rediscluster.Node) string {
	if t.options.TLS != nil {
		return n.TLSAddr
	}
	return n.Addr
}

func (t *torture) check(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func item(i int64) store.Item {
	url := fmt.Sprintf("http://h%d.example/%d", i%61, i)
	return store.Item{Key: hashkey.SumShort([]byte(url)), Queue: fmt.Sprintf("h%d.example", i%61), URL: url}
}

// start has every daemon add batches from two goroutines. Each URL is offered at
// least twice at about the same time, and some again later.
func (t *torture) start() {
	for range 3 {
		t.daemons = append(t.daemons, t.open())
	}
	ctx, cancel := context.WithCancel(t.ctx)
	t.stop = cancel
	t.Cleanup(func() { cancel(); t.load.Wait() }) // before the daemons are closed, if the test fails earlier
	for d, s := range t.daemons {
		for w := range 2 {
			rng := rand.New(rand.NewPCG(uint64(d), uint64(w)))
			t.load.Go(func() {
				for ctx.Err() == nil {
					t.add(s, t.batch(rng))
					pause(ctx)
				}
			})
		}
	}
}

// pause lets others have the processors, but in the torture: what a fault breaks, it breaks for a few URLs as for many.
func pause(ctx context.Context) {
	if !torturing() {
		_ = async.Sleep(ctx, 60*time.Millisecond)
	}
}

func (t *torture) batch(rng *rand.Rand) []int64 {
	urls := make([]int64, 0, 60)
	seen := make(map[int64]bool)
	for len(urls) < cap(urls) {
		i := t.next.Add(1) / 2
		if rng.IntN(3) == 0 {
			i = rng.Int64N(i + 1)
		}
		if !seen[i] {
			seen[i] = true
			urls = append(urls, i)
		}
	}
	return urls
}

// add offers URLs and writes the answers down.
func (t *torture) add(s *redisstore.Store, urls []int64) {
	items := make([]store.Item, len(urls))
	for i, u := range urls {
		items[i] = item(u)
	}
	got, err := s.Add(context.WithoutCancel(t.ctx), "c", items, store.AddOptions{})
	l := &t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed++
		l.refusal = err
		if !errors.Is(err, store.ErrUnavailable) {
			l.strange = append(l.strange, err)
		}
		return
	}
	now := time.Now()
	if !l.last.IsZero() {
		l.gap = max(l.gap, now.Sub(l.last))
		l.last = now
	}
	for i, u := range urls {
		l.acked[u] = true
		if got[i].Status == store.New {
			l.news[u]++
		}
	}
}

// during runs a fault while the daemons write, with some load before and after.
func (t *torture) during(fault func()) {
	t.start()
	t.answered(2000)
	t.ledger.mu.Lock()
	t.ledger.last, t.ledger.gap = time.Now(), 0
	t.ledger.mu.Unlock()
	fault()
	t.check(t.cluster.WaitHealthy(t.ctx))
	t.answered(2000)
	t.stop()
	t.load.Wait()
}

// answered waits until so many more URLs were answered.
func (t *torture) answered(more int) {
	t.Helper()
	count := func() int {
		t.ledger.mu.Lock()
		defer t.ledger.mu.Unlock()
		return len(t.ledger.acked)
	}
	want := count() + more
	t.until(func() bool { return count() >= want })
}

// until asks again and again.
func (t *torture) until(done func() bool) {
	t.Helper()
	for !done() {
		t.after(20 * time.Millisecond)
	}
}

// after lets time pass: servers need some to miss each other.
func (t *torture) after(d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
		t.Fatalf("the test took too long: %v\nthe cluster: %v\nthe last refusal: %v", t.ctx.Err(), t.state(), t.refusal())
	}
}

// state returns why the cluster is not well.
func (t *torture) state() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 5*time.Second)
	defer cancel()
	return t.cluster.WaitHealthy(ctx)
}

func (t *torture) refusal() error {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	return t.ledger.refusal
}

// verdict compares the ledger with what a fresh daemon says, and wants no more
// than that time without an answer.
func (t *torture) verdict(longest time.Duration) {
	t.Helper()
	lost, double := t.lost()
	if lost > 0 || double > 0 {
		t.Errorf("%d acknowledged URLs lost, %d called new twice; want none", lost, double)
	}
	for _, err := range t.ledger.strange {
		t.Errorf("a daemon got %v; want ErrUnavailable for what can't be promised", err)
	}
	if torturing() && t.ledger.gap > longest { // on a machine that tests other things as well, times mean little
		t.Errorf("no answer for %v; want at most %v", t.ledger.gap, longest)
	}
	t.queued(t.patient())
}

// lost offers everything again to a fresh daemon, and returns how many URLs
// were acknowledged and are still new, and how many were called new
// twice, by any daemon.
func (t *torture) lost() (lost, double int) {
	t.Helper()
	fresh := t.patient()
	t.writable(fresh)
	acked := maps.Clone(t.ledger.acked)
	t.Logf("%d URLs offered, %d of them answered, %d batches refused, longest time without an answer %v",
		t.offered(), len(acked), t.ledger.failed, t.ledger.gap.Round(time.Millisecond))
	for from := int64(0); from < t.offered(); from += 500 {
		lost += t.again(fresh, from, min(from+500, t.offered()), acked)
	}
	for _, n := range t.ledger.news {
		if n > 1 {
			double++
		}
	}
	return lost, double
}

// writable waits until every shard takes writes: a replica that has just come back
// may not say yet that it has something. It writes elsewhere, since a refused write that is
// done again would hide a loss.
func (t *torture) writable(s *redisstore.Store) {
	keys, fresh := make([]store.Key, 500), make([]bool, 500)
	for i := range keys {
		keys[i] = item(int64(i)).Key
	}
	t.until(func() bool { return s.See(t.ctx, "elsewhere", keys, fresh, store.SeeOptions{}) == nil })
}

// offered is the number of URLs.
func (t *torture) offered() int64 { return t.next.Load()/2 + 1 }

// again offers URLs once more, and returns how many that were acknowledged are
// new.
func (t *torture) again(s *redisstore.Store, from, to int64, acked map[int64]bool) (lost int) {
	t.Helper()
	var urls []int64
	for u := from; u < to; u++ {
		urls = append(urls, u)
	}
	failed, before := t.ledger.failed, make(map[int64]int)
	for _, u := range urls {
		before[u] = t.ledger.news[u]
	}
	if t.add(s, urls); t.ledger.failed > failed {
		t.Fatal("a fresh daemon is refused when all is well: ", t.ledger.refusal)
	}
	for _, u := range urls {
		if acked[u] && t.ledger.news[u] > before[u] {
			lost++
			if lost < 4 {
				t.Logf("lost: %s, called new %d times before", item(u).URL, before[u])
			}
		}
	}
	return lost
}

// finish finishes what refused calls left half done. Daemons do so by themselves when it is older than twice RetryFor: the torture
// waits for that, and TestTheSweeperFinishesSteps holds it otherwise.
func (t *torture) finish(s *redisstore.Store) {
	if !torturing() {
		t.until(func() bool { return s.Sweep(t.ctx) == nil })
	}
}

// queued checks that every URL waits in its queue, once.
func (t *torture) queued(s *redisstore.Store) {
	t.Helper()
	t.finish(s)
	t.until(func() bool {
		st, err := s.Stats(t.ctx, "c")
		t.check(err)
		return st.Seen == t.offered() && st.Held == t.offered()
	})
	times := make(map[store.Key]int)
	t.until(func() bool { // held are also those that are on their way
		clear(times)
		n := int64(0)
		for e, err := range s.Entries(t.ctx, "c", "") {
			t.check(err)
			times[e.Key]++
			n++
		}
		return n >= t.offered()
	})
	for u := range t.offered() {
		if n := times[item(u).Key]; n != 1 {
			t.Errorf("%s is queued %d times; want once", item(u).URL, n)
		}
	}
}
