package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// daemon is a serve process.
type daemon struct {
	t          testing.TB
	cmd        *exec.Cmd
	grpc, http string
	log        *logTail
	ended      chan struct{} // closed when the process is gone and its log is whole
	err        error         // of its end
}

// startDaemon runs serve on a store and waits until it serves.
func startDaemon(t testing.TB, db string, flags ...string) *daemon {
	t.Helper()
	return startDaemonOn(t, append([]string{"--db", db, "--min-free", "-1"}, flags...)...)
}

// startDaemonOn is startDaemon without a directory.
func startDaemonOn(t testing.TB, flags ...string) *daemon {
	t.Helper()
	addrs, release, err := freeport.Take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, grpc: addrs[0], http: addrs[1], log: &logTail{}, ended: make(chan struct{})}
	d.cmd = exec.Command(self, append([]string{"serve", "--grpc", d.grpc, "--http", d.http}, flags...)...)
	d.await(t)
	return d
}

// await starts the process and waits until it serves, or has ended.
func (d *daemon) await(t testing.TB) {
	t.Helper()
	d.cmd.Env = append(os.Environ(), asCommand+"=1")
	d.cmd.Stderr = d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang.Limit)
	defer cancel()
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
		cancel()
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		<-d.ended                // until then it writes where the test removes
	})
	if _, err := d.client().GetActive(ctx, &pb.Local{}, grpc.WaitForReady(true)); err != nil && status.Code(err) != codes.Unauthenticated {
		t.Fatalf("%v\n%s", err, d.log)
	}
}

// reload sends SIGHUP, and waits until the process has logged something once more.
func (d *daemon) reload(text string) {
	d.t.Helper()
	n := strings.Count(d.log.String(), text)
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		d.t.Fatal(err)
	}
	d.awaitLogs(text, n+1)
}

// awaitLog waits until the process has logged something.
func (d *daemon) awaitLog(text string) {
	d.t.Helper()
	d.awaitLogs(text, 1)
}

func (d *daemon) awaitLogs(text string, n int) {
	d.t.Helper()
	for strings.Count(d.log.String(), text) < n { // or the test times out
		select {
		case <-d.ended:
			d.t.Fatalf("it ended without %q:\n%s", text, d.log)
		case <-time.After(time.Millisecond):
		}
	}
}

// logTail keeps what a process writes.
type logTail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (d *daemon) client() pb.URLFrontierClient {
	d.t.Helper()
	// A process that is starting refuses the first attempt; the usual second
	// one comes a second later.
	soon := grpc.ConnectParams{MinConnectTimeout: 5 * time.Second, Backoff: backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.5, MaxDelay: 50 * time.Millisecond}}
	conn, err := grpc.NewClient(d.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithConnectParams(soon))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() }) // nothing is written through it any more
	return pb.NewURLFrontierClient(conn)
}

// end sends a signal and returns the exit status.
func (d *daemon) end(sig os.Signal) int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Fatal(err)
	}
	<-d.ended
	var exit *exec.ExitError
	if d.err != nil && !errors.As(d.err, &exit) {
		d.t.Fatal(d.err)
	}
	return d.cmd.ProcessState.ExitCode()
}

// writer puts URLs on one stream, as fast as it can, until the server ends, and records the
// acknowledged ones.
type writer struct {
	acked map[string]bool
	err   error
}

func (d *daemon) write(w *writer, name string, started chan<- struct{}) {
	stream, err := d.client().PutURLs(d.t.Context())
	if err != nil {
		w.err = err
		return
	}
	go func() {
		for i := 0; ; i++ {
			u := &pb.URLInfo{Url: fmt.Sprintf("http://%s-%d.example/%d", name, i%20, i)}
			if stream.Send(&pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: u}}}) != nil {
				return
			}
		}
	}()
	for {
		ack, err := stream.Recv()
		if err != nil {
			return
		}
		if ack.Status != pb.AckMessage_OK {
			w.err = fmt.Errorf("%s: got %s; want OK", ack.ID, ack.Status)
			return
		}
		w.acked[ack.ID] = true
		if len(w.acked) == 500 {
			close(started)
		}
	}
}

// TestServeKill9 kills the daemon during writes, repeatedly, on one store. Each acknowledged URL
// must be stored, SKIPPED when offered again, and handed out once.
func TestServeKill9(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	rounds := 3
	if os.Getenv("FIRSTSEEN_TORTURE") != "" {
		rounds = 200
	}
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N")); err == nil {
		rounds = n
	}
	db := filepath.Join(t.TempDir(), "db")
	acked := map[string]bool{}
	leased := map[string]bool{}
	for round := range rounds {
		d := startDaemon(t, db, "--delay", "0")
		w := &writer{acked: map[string]bool{}}
		started, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			d.write(w, fmt.Sprintf("round%d", round), started)
		}()
		select {
		case <-started:
		case <-done:
			t.Fatalf("round %d: the writer ended: %v\n%s", round, w.err, d.log)
		}
		lease(t, d, leased, 50)
		d.end(syscall.SIGKILL)
		<-done
		if w.err != nil {
			t.Fatal(w.err)
		}
		for u := range w.acked {
			acked[u] = true
		}
	}
	d := startDaemon(t, db, "--delay", "0")
	checkAcked(t, d, acked)
	lease(t, d, leased, 1<<20)
	for u := range acked {
		if !leased[u] {
			t.Errorf("%s was acknowledged and never handed out", u)
		}
	}
	t.Logf("%d rounds, %d URLs acknowledged", rounds, len(acked))
	if got := d.end(syscall.SIGTERM); got != 0 {
		t.Errorf("got exit status %d; want 0\n%s", got, d.log)
	}
}

// lease takes up to n URLs for an hour, and fails for one that is leased
// already.
func lease(t *testing.T, d *daemon, leased map[string]bool, n int) {
	t.Helper()
	queues := uint32(n)
	for _, u := range getURLs(t, d.client(), &pb.GetParams{MaxQueues: queues, DelayRequestable: 3600}) {
		if leased[u] {
			t.Errorf("%s was handed out twice within its lease", u)
		}
		leased[u] = true
	}
}

// getURLs returns what one call hands out.
func getURLs(t *testing.T, c pb.URLFrontierClient, params *pb.GetParams) (urls []string) {
	t.Helper()
	stream, err := c.GetURLs(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	for {
		u, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return urls
		}
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u.Url)
	}
}

// checkAcked offers the acknowledged URLs again.
func checkAcked(t *testing.T, d *daemon, acked map[string]bool) {
	t.Helper()
	stream, err := d.client().PutDiscovered(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := &pb.DiscoveredBatch{}
	send := func() {
		if err := stream.Send(b); err != nil {
			t.Fatal(err)
		}
		ack, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range ack.Statuses {
			if s != pb.AckMessage_SKIPPED {
				t.Errorf("%s: got %s when offered again; want SKIPPED", b.Items[i].Url, s)
			}
		}
		b.Reset()
	}
	for u := range acked {
		if b.Items = append(b.Items, &pb.URLInfo{Url: u}); len(b.Items) == 1000 {
			send()
		}
	}
	send()
}

// TestServeSignals drains at SIGTERM, and renews tokens at SIGHUP.
func TestServeSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	write := func(text string) {
		if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("read first-0123456789abcdef\n")
	d := startDaemon(t, filepath.Join(dir, "db"), "--tokens", tokens)
	code := func(token string) codes.Code {
		_, err := d.client().GetActive(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token), &pb.Local{})
		return status.Code(err)
	}
	if got := code("first-0123456789abcdef"); got != codes.OK {
		t.Errorf("got %s; want OK", got)
	}
	write("read second-0123456789abcdef\n")
	d.reload("msg=reloaded")
	if got := code("second-0123456789abcdef"); got != codes.OK {
		t.Errorf("got %s for the new token; want OK", got)
	}
	if got := d.end(syscall.SIGTERM); got != 0 {
		t.Errorf("got exit status %d; want 0\n%s", got, d.log)
	}
	for _, want := range []string{"serving", "reloaded", "draining", "drained"} {
		if !strings.Contains(d.log.String(), "msg="+want) {
			t.Errorf("the log lacks %q:\n%s", want, d.log)
		}
	}
	if strings.Contains(d.log.String(), "0123456789abcdef") {
		t.Errorf("a token is in the log:\n%s", d.log)
	}
}

// TestServeReloadsRules changes the rule file under a running daemon, and
// opens the store again under the new one.
func TestServeReloadsRules(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	write := func(text string) {
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"params":[]}`)
	d := startDaemon(t, filepath.Join(dir, "db"), "--rule-file", rules)
	canonical := func() string {
		resp, err := http.Get("http://" + d.http + "/v1/explain?url=http://a.example/%3Fid%3D1%26ref%3D2")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var e struct{ Canonical string }
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
			t.Fatal(err)
		}
		return e.Canonical
	}
	if got, want := canonical(), "http://a.example/?id=1&ref=2"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	write(`{"params":[{"host":"a.example","drop":["ref"]}]}`)
	d.reload("msg=reloaded")
	const want = "http://a.example/?id=1"
	if got := canonical(); got != want {
		t.Errorf("after a reload: got %s; want %s", got, want)
	}
	write("nonsense")
	d.reload("not everything was reloaded")
	if got := canonical(); got != want {
		t.Errorf("after a bad rule file: got %s; want %s", got, want)
	}
	d.end(syscall.SIGTERM)
	write(`{"params":[{"host":"*","keep":["id"]}]}`)
	d = startDaemon(t, filepath.Join(dir, "db"), "--rule-file", rules)
	if got := canonical(); got != want {
		t.Errorf("after a restart: got %s; want %s", got, want)
	}
	d.end(syscall.SIGTERM)
}

// TestServeKeepsSettings restarts the daemon: delays, blocks, leases and the
// pause are as before.
func TestServeKeepsSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	db := filepath.Join(t.TempDir(), "db")
	d := startDaemon(t, db)
	if got := verdicts(t, d.http, []string{"http://a.example/1", "http://b.example/1"}); got != "new new" {
		t.Errorf("got %s; want both new", got)
	}
	leased := map[string]bool{}
	lease(t, d, leased, 1)
	if _, err := d.client().BlockQueueUntil(t.Context(), &pb.BlockQueueParams{Key: "b.example", Time: uint64(time.Now().Unix() + 3600)}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.client().SetActive(t.Context(), &pb.Active{State: false}); err != nil {
		t.Fatal(err)
	}
	d.end(syscall.SIGKILL)
	d = startDaemon(t, db)
	if b, err := d.client().GetActive(t.Context(), &pb.Local{}); err != nil || b.State {
		t.Errorf("active after a restart: got %v, %v; want false", b, err)
	}
	if _, err := d.client().SetActive(t.Context(), &pb.Active{State: true}); err != nil {
		t.Fatal(err)
	}
	if l, err := d.client().ListCrawls(t.Context(), &pb.Local{}); err != nil || len(l.Values) != 1 {
		t.Errorf("got crawls %v, %v; want DEFAULT alone", l, err)
	}
	lease(t, d, leased, 10)
	if len(leased) != 1 || !leased["http://a.example/1"] {
		t.Errorf("got %v; want only the first, leased before", leased)
	}
	d.end(syscall.SIGTERM)
}
