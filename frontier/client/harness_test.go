package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

var bg = context.Background()

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(scratch()) // the system clears the rest
		os.Exit(code)
	}))
}

var scratch = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "firstseen-client-")
	if err != nil {
		panic(err)
	}
	return dir
})

// program builds the daemon once. FIRSTSEEN_BIN names one that is there.
var program = sync.OnceValues(func() (string, error) {
	if name := os.Getenv("FIRSTSEEN_BIN"); name != "" {
		return name, nil
	}
	name := filepath.Join(scratch(), "firstseen")
	out, err := exec.Command("go", "build", "-o", name, "github.com/firstseen/firstseen/cmd/firstseen").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build the daemon: %w\n%s", err, out)
	}
	return name, nil
})

// embedded returns a frontier on a new store on disk; both are closed at the end of the test.
func embedded(t testing.TB, opt frontier.Options) *frontier.Frontier {
	t.Helper()
	s, err := pebblestore.Open(filepath.Join(t.TempDir(), "db"), pebblestore.Options{KeepURLs: true})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	f, err := frontier.New(s, opt)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, f)
	return f
}

// daemon is a real `firstseen serve` on loopback, which can be killed and
// started again on the same store and ports.
type daemon struct {
	program    string
	args       []string
	http, grpc string // addresses
	cmd        *exec.Cmd
}

func newDaemon(t testing.TB, args ...string) *daemon {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	addrs := freeAddrs(t, 2)
	d := &daemon{program: name, http: addrs[0], grpc: addrs[1]}
	d.args = append([]string{"serve", "--log-level", "error", "--db", filepath.Join(t.TempDir(), "db"), "--http", d.http, "--grpc", d.grpc,
		"--delay", "0", "--min-free", "-1"}, args...)
	d.start(t)
	t.Cleanup(func() { d.kill(t) })
	return d
}

func (d *daemon) start(t testing.TB) {
	t.Helper()
	d.cmd = exec.Command(d.program, d.args...)
	d.cmd.Stderr = os.Stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill ends the daemon as kill -9 does.
func (d *daemon) kill(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = d.cmd.Wait() // its error is that it was killed
}

// freeAddrs returns n free addresses. They are this test's until it ends.
func freeAddrs(t testing.TB, n int) []string {
	t.Helper()
	addrs, release, err := freeport.Take(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addrs
}

// open makes a client of a daemon.
func (d *daemon) open(t testing.TB, opt client.Options) *client.Client {
	t.Helper()
	opt.Addr = d.http
	c, err := client.Open(bg, opt)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, c)
	return c
}

func closeAtEnd(t testing.TB, f io.Closer) {
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// losing is a transport that lets requests reach the daemon and then loses the
// answers of those that match, n times.
type losing struct {
	http.RoundTripper
	mu   sync.Mutex
	path string
	n    int
	keep int64 // bytes of the answer that get through
}

func newLosing() *losing { return &losing{RoundTripper: &http.Transport{}} }

func (l *losing) lose(path string, n int, keep int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.path, l.n, l.keep = path, n, keep
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || r.URL.Path != l.path || l.n == 0 {
		return resp, err
	}
	l.n--
	all, err := io.ReadAll(resp.Body) // the daemon has carried it out
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close() // read to its end
	resp.Body = &cut{all[:min(int64(len(all)), l.keep)]}
	return resp, nil
}

func (l *losing) CloseIdleConnections() { l.RoundTripper.(*http.Transport).CloseIdleConnections() }

// cut is a body that breaks off.
type cut struct{ left []byte }

func (c *cut) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *cut) Close() error { return nil }

func block(f frontier.Interface, crawl, queue string, until time.Time) error {
	return f.Configure(bg, crawl, queue, store.QueueChange{BlockedUntil: &until})
}

func extend(f frontier.Interface, l *frontier.Lease, until time.Time) error {
	return settle(f, frontier.Settlement{Lease: l, Outcome: frontier.Extend, At: until})
}

// retryAfter retries a lease at a time before which its whole queue waits.
func retryAfter(f frontier.Interface, l *frontier.Lease, until time.Time) error {
	return settle(f, frontier.Settlement{Lease: l, Outcome: frontier.Retry, At: until, BlockQueue: until})
}

// settle settles one lease, or returns frontier.ErrStale.
func settle(f frontier.Interface, s frontier.Settlement) error {
	answers, err := f.Settle(bg, []frontier.Settlement{s})
	if err == nil && answers[0] == frontier.Stale {
		err = frontier.ErrStale
	}
	return err
}
