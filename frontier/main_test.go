package frontier

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

func TestMain(m *testing.M) {
	if crashChild() {
		return
	}
	os.Exit(hang.Main(m, func() error { return goleak.Find() }))
}

var bg = context.Background()

// dropped is a URL that a frontier dropped by itself.
type dropped struct {
	crawl, url string
	reason     Reason
}

// dropLog calls a function with each URL that the frontier logs as dropped by itself, one at a time.
type dropLog struct {
	mu   sync.Mutex
	note func(dropped)
}

func onDrop(note func(dropped)) *slog.Logger { return slog.New(&dropLog{note: note}) }

func (l *dropLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *dropLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *dropLog) WithGroup(string) slog.Handler            { return l }

func (l *dropLog) Handle(_ context.Context, r slog.Record) error {
	var d dropped
	var urls []string
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value.Any(); a.Key {
		case "crawl":
			d.crawl = v.(string)
		case "reason":
			d.reason = v.(Reason)
		case "examples":
			urls = v.([]string)
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d.url = range urls {
		l.note(d)
	}
	return nil
}

// open makes a frontier on a new store in memory for a test, and closes it at its end.
func open(t testing.TB, opt Options) *Frontier {
	t.Helper()
	return openOn(t, memstore.New(memstore.Options{}), opt)
}

// openKeep is open on a store that keeps the text of completed and dropped URLs, or not.
func openKeep(t testing.TB, keep bool, opt Options) *Frontier {
	t.Helper()
	return openOn(t, memstore.New(memstore.Options{KeepURLs: keep}), opt)
}

// openOn is open on a store, which stays open.
func openOn(t testing.TB, s store.Store, opt Options) *Frontier {
	t.Helper()
	f, err := New(s, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func addAll(t testing.TB, f *Frontier, urls ...Link) []Result {
	t.Helper()
	results, err := f.AddBatch(bg, urls)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(urls) {
		t.Fatalf("got %d results; want %d", len(results), len(urls))
	}
	return results
}

func addOne(t testing.TB, f *Frontier, u Link) Result {
	t.Helper()
	return addAll(t, f, u)[0]
}

// leaseOne returns the one lease there is to have.
func leaseOne(t testing.TB, f *Frontier) *Lease {
	t.Helper()
	leases, _, err := f.Lease(bg, LeaseRequest{Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(leases) != 1 {
		t.Fatalf("got %d leases; want 1", len(leases))
	}
	return leases[0]
}

// leaseNone fails if there is anything to lease.
func leaseNone(t testing.TB, f *Frontier) {
	t.Helper()
	leases, _, err := f.Lease(bg, LeaseRequest{Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(leases) != 0 {
		t.Fatalf("got lease of %s; want none", leases[0].URL)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exact makes a crawl one without canonical dedup.
func exact(t testing.TB, f *Frontier, crawl string) *Frontier {
	t.Helper()
	must(t, f.SetCrawlProfile(bg, crawl, canon.None()))
	return f
}

func block(f *Frontier, crawl, queue string, until time.Time) error {
	return f.Configure(bg, crawl, queue, store.QueueChange{BlockedUntil: &until})
}

func pause(f *Frontier, crawl, queue string, paused bool) error {
	return f.Configure(bg, crawl, queue, store.QueueChange{Paused: &paused})
}

func extend(f *Frontier, l *Lease, until time.Time) error {
	_, err := f.settleOne(bg, Settlement{Lease: l, Outcome: Extend, At: until})
	return err
}

// retryBlocking retries a lease at a time before which its whole queue waits.
func retryBlocking(f *Frontier, l *Lease, until time.Time) (again bool, err error) {
	s, err := f.settleOne(bg, Settlement{Lease: l, Outcome: Retry, At: until, BlockQueue: until})
	return err == nil && s == OK, err
}
