package pebblestore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

// A blockedStore is a store in which long works have a lot to do. The default crawl has many keys that are only seen, and one
// queue of a fifth of the queued URLs, "big"; the crawl "wide" has the other queues, 20 URLs each.
type blockedStore struct {
	seen, big, wide int
	queues          int // of wide
}

// fullSize is the store of which the times count: 5 M queued URLs in 200,000 queues, 20 M keys.
var fullSize = blockedStore{seen: 15e6, big: 1e6, wide: 4e6, queues: 200_000}

func blockedKey(kind byte, n int) (k store.Key) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte{kind}, uint64(n)))
	return store.Key(sum[:])
}

func (b blockedStore) item(kind byte, n int) store.Item {
	it := store.Item{Key: blockedKey(kind, n), Queue: "big", Meta: []byte("depth=3;referrer=1234567")}
	host := "big.example"
	if kind == 'w' {
		it.Queue = fmt.Sprintf("host-%d.example", n%b.queues)
		host = it.Queue
	}
	it.URL = fmt.Sprintf("https://%s/%x/articles/2026/%d.html", host, it.Key[:4], n)
	return it
}

// fill adds what the store has.
func (b blockedStore) fill(t testing.TB, s *Store) {
	t.Helper()
	const batch = 10_000
	keys, fresh := make([]store.Key, 0, batch), make([]bool, batch)
	for i := range b.seen {
		if keys = append(keys, blockedKey('s', i)); len(keys) == batch || i == b.seen-1 {
			if err := s.See(t.Context(), "", keys, fresh[:len(keys)], store.SeeOptions{}); err != nil {
				t.Fatal(err)
			}
			keys = keys[:0]
		}
	}
	for kind, n := range map[byte]int{'b': b.big, 'w': b.wide} {
		crawl := map[byte]string{'w': "wide"}[kind]
		for i := 0; i < n; {
			items := make([]store.Item, 0, batch)
			for ; i < n && len(items) < batch; i++ {
				items = append(items, b.item(kind, i))
			}
			if _, err := s.Add(t.Context(), crawl, items, store.AddOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// longWork is something that has a lot to do.
type longWork struct {
	name  string
	again bool // it can be done again and again
	do    func(ctx context.Context, s *Store) error
}

// bySelection changes all URLs of wide as the frontier's Change does: by the list of them, 500 at a time.
func bySelection(changes ...store.Settlement) func(ctx context.Context, s *Store) error {
	return func(ctx context.Context, s *Store) error {
		var keys []store.Key
		apply := func() error {
			for _, change := range changes {
				list := make([]store.Settlement, len(keys))
				for i := range keys {
					list[i] = change
					list[i].Key = keys[i]
				}
				if _, err := s.Settle(ctx, "wide", list); err != nil {
					return err
				}
			}
			keys = keys[:0]
			return nil
		}
		for e, err := range s.Entries(ctx, "wide", "") {
			if err != nil {
				return err
			}
			if keys = append(keys, e.Key); len(keys) == 500 {
				if err := apply(); err != nil {
					return err
				}
			}
		}
		return apply()
	}
}

// longWorks are the works during which no commit may hold up others for long.
var longWorks = []longWork{
	{"idle", false, func(ctx context.Context, s *Store) error { return nil }},
	{"DeleteQueue of big", false, func(ctx context.Context, s *Store) error {
		_, err := s.Forget(ctx, store.Selection{Queue: "big"})
		return err
	}},
	{"forget by age, held", false, func(ctx context.Context, s *Store) error {
		_, err := s.Forget(ctx, store.Selection{Crawl: "wide", Before: s.opt.Clock()})
		return err
	}},
	{"forget by age, seen", false, func(ctx context.Context, s *Store) error {
		_, err := s.Forget(ctx, store.Selection{Before: s.opt.Clock()})
		return err
	}},
	{"purge by keys", false, func(ctx context.Context, s *Store) error {
		for {
			var keys []store.Key
			for e, err := range s.Entries(ctx, "wide", "") {
				if err != nil {
					return err
				}
				if keys = append(keys, e.Key); len(keys) == 100_000 {
					break
				}
			}
			if n, err := s.Forget(ctx, store.Selection{Crawl: "wide", Keys: keys}); err != nil || n == 0 {
				return err
			}
		}
	}},
	{"drop by selection", false, bySelection(store.Settlement{Outcome: store.Drop, If: store.Queued})},
	{"requeue by selection", false, bySelection(store.Settlement{Outcome: store.Drop, If: store.Queued},
		store.Settlement{Outcome: store.Requeue, If: store.Dropped, NewRound: true})},
	{"forget a crawl", false, func(ctx context.Context, s *Store) error {
		_, err := s.Forget(ctx, store.Selection{Crawl: "wide"})
		return err
	}},
	{"leases of many queues", true, func(ctx context.Context, s *Store) error {
		got, err := s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 4096, Delay: time.Second, Lease: time.Minute})
		if err == nil && len(got.Leases) == 0 {
			err = errors.New("got nothing to lease")
		}
		return err
	}},
	{"leases settled", true, func(ctx context.Context, s *Store) error {
		got, err := s.Take(ctx, store.TakeRequest{Crawl: "wide", MaxURLs: 4096, Lease: time.Hour})
		if err != nil {
			return err
		}
		list := make([]store.Settlement, len(got.Leases))
		for i, l := range got.Leases {
			list[i] = store.Settlement{Key: l.Key, Token: l.Token}
		}
		_, err = s.Settle(ctx, "wide", list)
		return err
	}},
	{"adds of 8,192 URLs", true, func(ctx context.Context, s *Store) error {
		items := make([]store.Item, 8192)
		for i := range items {
			n := int(s.accepted.Load())<<16 + i
			items[i] = store.Item{Key: blockedKey('a', n), Queue: fmt.Sprintf("host-%d.example", n%200_000), URL: fmt.Sprintf("https://host-%d.example/articles/2026/%d.html", n%200_000, n)}
		}
		_, err := s.Add(ctx, "wide", items, store.AddOptions{})
		return err
	}},
	{"export of keys", true, func(ctx context.Context, s *Store) error {
		_, err := s.Export(ctx, io.Discard, "")
		return err
	}},
	{"copy", true, func(ctx context.Context, s *Store) error {
		_, err := crawlfile.Export(ctx, io.Discard, s, "wide", s.Identity(), nil)
		return err
	}},
	{"backup", true, func(ctx context.Context, s *Store) error {
		_, err := s.Backup(ctx, fmt.Sprint(s.dir, ".backup", time.Now().UnixNano()))
		return err
	}},
	{"queues, dashboard, metrics", true, func(ctx context.Context, s *Store) error {
		for _, err := range s.Queues(ctx, "*", "") {
			if err != nil {
				return err
			}
		}
		_, err := s.Metrics(ctx)
		return err
	}},
	{"settings of all queues", true, func(ctx context.Context, s *Store) error {
		delay := time.Duration(1+s.groups.Load()%100) * time.Millisecond
		return s.Configure(ctx, "*", "", store.QueueChange{Delay: &delay})
	}},
	{"verify", false, func(ctx context.Context, s *Store) error {
		r, err := s.Verify(ctx)
		if err == nil && len(r.Findings) > 0 {
			err = fmt.Errorf("got findings %v", r.Findings)
		}
		return err
	}},
}

// TestNoStepHasMuch checks by counts what TestBlockedAtFullSize measures: that each work takes many steps if it has a lot to do, and
// that no commit writes more than a few rows for each that a step may look at.
func TestNoStepHasMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a store of many steps")
	}
	b := blockedStore{seen: 4 * keysOfRow * mostRows, big: 4 * mostRows, wide: 6 * mostRows, queues: 3 * mostRows}
	leastSteps := map[string]int64{
		"DeleteQueue of big": 4, "forget by age, held": 6, "forget by age, seen": 4, "purge by keys": 6 + 6,
		"drop by selection": 6, "requeue by selection": 6, "leases of many queues": 3, "leases settled": 3, "copy": 6, "queues, dashboard, metrics": 3 * mostRows / listRows, "settings of all queues": 3,
	}
	filled := vfs.NewMem() // once; each work has a copy
	s := mustOpen(t, "db", Options{FS: filled, KeepURLs: true, Clock: newStepClock().Now})
	b.fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, w := range longWorks {
		t.Run(w.name, func(t *testing.T) {
			disk := vfs.NewMem()
			if _, err := vfs.Clone(filled, disk, "db", "db"); err != nil {
				t.Fatal(err)
			}
			var most atomic.Int64
			clock := newStepClock()
			// To a clock that stands all parts are quick: so each may look at as much as parts may, on a machine in use as well.
			standing := func() time.Duration { return 0 }
			s := mustOpen(t, "db", Options{FS: disk, KeepURLs: true, Clock: clock.Now, tuning: tuning{monotonic: standing, observe: func(g groupInfo) {
				most.Store(max(most.Load(), int64(g.rows)))
			}}})
			defer s.Close()
			clock.step(time.Hour)
			most.Store(0)
			before := s.accepted.Load()
			if err := w.do(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if steps := s.accepted.Load() - before; steps < leastSteps[w.name] {
				t.Errorf("got %d steps; want at least %d", steps, leastSteps[w.name])
			}
			if n := most.Load(); n > 6*mostRows {
				t.Errorf("got a commit of %d rows; want at most %d", n, 6*mostRows)
			}
			wantSound(t, s)
		})
	}
}

// TestLeasesGoFirst: a crawl with many leases is forgotten in steps, since each lease has a row of its own among those of all crawls.
func TestLeasesGoFirst(t *testing.T) {
	b := blockedStore{big: 3 * mostRows, wide: 3 * mostRows, queues: 10}
	var most atomic.Int64
	s := mustOpen(t, t.TempDir(), Options{tuning: tuning{observe: func(g groupInfo) { most.Store(max(most.Load(), int64(g.rows))) }}})
	defer s.Close()
	b.fill(t, s)
	got, err := s.Take(t.Context(), store.TakeRequest{Crawl: "wide", MaxURLs: b.wide, MaxPerQueue: b.wide})
	if err != nil || len(got.Leases) != b.wide {
		t.Fatalf("got %d leases, %v; want all", len(got.Leases), err)
	}
	most.Store(0)
	if n := forget(t, s, store.Selection{Crawl: "wide"}); n != int64(b.wide) {
		t.Errorf("got %d keys forgotten; want %d", n, b.wide)
	}
	if n := most.Load(); n > 6*mostRows {
		t.Errorf("got a commit of %d rows; want at most %d", n, 6*mostRows)
	}
	if n := rowsOf(t, s, tableLease); n != 0 {
		t.Errorf("got %d rows of leases; want none", n)
	}
	wantSound(t, s)
}

// TestTakeInParts: a take that is carried out in several steps serves each queue once, and all that it was asked for of each.
func TestTakeInParts(t *testing.T) {
	b := blockedStore{wide: 6 * firstRows, queues: 2 * firstRows}
	for _, each := range []int{1, 2, 3} {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
		b.fill(t, s)
		got, err := s.Take(t.Context(), store.TakeRequest{Crawl: "*", MaxURLs: b.wide, MaxPerQueue: each})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, l := range got.Leases {
			of[l.Queue]++
		}
		if len(of) != b.queues {
			t.Errorf("got URLs of %d queues; want %d", len(of), b.queues)
		}
		for q, n := range of {
			if n != each {
				t.Errorf("got %d URLs of queue %s; want %d", n, q, each)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// others are callers beside a work: one adds small batches, one fetches. It returns how long their calls took.
func (b blockedStore) others(ctx context.Context, t testing.TB, s *Store) (waits []time.Duration) {
	rng := rand.New(rand.NewPCG(1, 2))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	call := func(f func() error) {
		began := time.Now()
		if err := f(); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		waits = append(waits, time.Since(began))
	}
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return waits
		case <-tick.C:
		}
		items := make([]store.Item, 50)
		for j := range items {
			items[j] = b.item('w', rng.IntN(b.wide)) // known, mostly
			if j%2 == 0 {
				items[j].Key = blockedKey('n', i*100+j)
			}
			items[j].Queue = fmt.Sprintf("host-%d.example", rng.IntN(2*b.queues))
		}
		call(func() error {
			_, err := s.Add(context.Background(), "others", items, store.AddOptions{})
			return err
		})
		call(func() error {
			got, err := s.Take(context.Background(), store.TakeRequest{Crawl: "others", MaxURLs: 10})
			if err != nil {
				return err
			}
			list := make([]store.Settlement, len(got.Leases))
			for i, l := range got.Leases {
				list[i] = store.Settlement{Key: l.Key, Token: l.Token}
			}
			_, err = s.Settle(context.Background(), "others", list)
			return err
		})
	}
}

func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

// threadTime is the processor time of the thread, which is the caller's from then on. As the clock of a store it measures commits
// on a machine that has others to serve.
func threadTime() time.Duration {
	runtime.LockOSThread()
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// TestBlockedAtFullSize prints how long commits keep others waiting during each work, in the full size and with the options
// of a daemon. FIRSTSEEN_BLOCKED is a directory for the stores, which it makes once; FIRSTSEEN_BLOCKED_WORKS
// a part of the names of works, FIRSTSEEN_BLOCKED_LENGTH how long a work runs at most,
// and with FIRSTSEEN_BLOCKED_CPU it counts the processor time of commits, not the time.
func TestBlockedAtFullSize(t *testing.T) {
	dir := os.Getenv("FIRSTSEEN_BLOCKED")
	if dir == "" {
		t.Skip("set FIRSTSEEN_BLOCKED to a directory with 10 GB of room")
	}
	opt := Options{KeepURLs: true, CacheBytes: 64 << 20, BufferBytes: 64 << 20}
	base := filepath.Join(dir, "base")
	if _, err := os.Stat(base); err != nil {
		began := time.Now()
		s := mustOpen(t, base+".partial", opt)
		fullSize.fill(t, s)
		if err := errors.Join(s.Close(), os.Rename(base+".partial", base)); err != nil {
			t.Fatal(err)
		}
		t.Logf("made the store in %v", time.Since(began).Round(time.Second))
	}
	length, err := time.ParseDuration(os.Getenv("FIRSTSEEN_BLOCKED_LENGTH"))
	if err != nil {
		length = 10 * time.Second
	}
	fmt.Printf("%-28s %8s %8s %8s %8s %8s | %8s %8s | %8s %6s %8s %6s\n", "work", "commits", "p50 ms", "p99 ms", "max ms", ">50 ms", "call p99", "call max", "took", "busy s", "cpu s", "pace s")
	for _, w := range longWorks {
		if !strings.Contains(w.name, os.Getenv("FIRSTSEEN_BLOCKED_WORKS")) {
			continue
		}
		copied := filepath.Join(dir, "copy")
		if err := exec.Command("sh", "-c", fmt.Sprintf("rm -rf '%s'* && cp -r '%s' '%s'", copied, base, copied)).Run(); err != nil {
			t.Fatal(err)
		}
		func() {
			var mu sync.Mutex
			var busy []time.Duration
			opt := opt
			if os.Getenv("FIRSTSEEN_BLOCKED_CPU") != "" {
				opt.monotonic = threadTime
			}
			opt.observe = func(i groupInfo) {
				mu.Lock()
				defer mu.Unlock()
				busy = append(busy, i.busy)
			}
			s := mustOpen(t, copied, opt)
			defer s.Close()
			idle(t, s, func() bool {
				m, err := s.Metrics(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return m.Index.Fingerprints && !m.Index.Filling && m.Compacting == 0
			})
			mu.Lock()
			busy = busy[:0]
			mu.Unlock()
			before := s.pace.waited.Load()
			limit := length
			if strings.HasPrefix(w.name, "DeleteQueue") {
				limit = hang.Limit
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			over, end := context.WithCancel(t.Context())
			var waits []time.Duration
			var wg sync.WaitGroup
			wg.Go(func() { waits = fullSize.others(over, t, s) })
			began, cpu := time.Now(), cpuTime()
			err := w.do(ctx, s)
			for err == nil && w.again {
				err = w.do(ctx, s)
			}
			if err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", w.name, err)
			}
			took, cpu := time.Since(began), cpuTime()-cpu
			if took < time.Second { // what it leaves behind
				<-ctx.Done()
			}
			end()
			wg.Wait()
			mu.Lock()
			defer mu.Unlock()
			over50, sum := 0, time.Duration(0)
			for _, d := range busy {
				sum += d
				if d > 50*time.Millisecond {
					over50++
				}
			}
			ms := func(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) }
			fmt.Printf("%-28s %8d %8s %8s %8s %8d | %8s %8s | %8s %6.1f %8.1f %6.1f\n", w.name, len(busy), ms(quantile(busy, .5)), ms(quantile(busy, .99)), ms(quantile(busy, 1)), over50,
				ms(quantile(waits, .99)), ms(quantile(waits, 1)), took.Round(10*time.Millisecond), sum.Seconds(), cpu.Seconds(), time.Duration(s.pace.waited.Load()-before).Seconds())
		}()
	}
}
