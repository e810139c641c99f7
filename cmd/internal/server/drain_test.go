package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestDrain ends a server under an open stream: every item is acked or never
// stored, and the stream ends with UNAVAILABLE.
func TestDrain(t *testing.T) {
	r := start(t, canon.None(), Config{})
	stream, err := r.client(t).PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() {
		for i := 0; stream.Send((&player{}).item(fmt.Sprintf("http://a.com/%d id=%d", i, i))) == nil; i++ {
		}
	}()
	acked := int64(0)
	for err == nil {
		var ack *pb.AckMessage
		if ack, err = stream.Recv(); err == nil {
			if acked++; acked == 1000 {
				go func() { stopped <- r.stop() }()
			}
			if ack.Status != pb.AckMessage_OK {
				t.Errorf("item %s: got %s", ack.ID, ack.Status)
			}
		}
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("got %v; want Unavailable", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	st, err := r.store.Stats(t.Context(), "*")
	if err != nil || st.Seen != acked || acked < 1000 {
		t.Errorf("got %d URLs stored, %v; want the %d that were acked", st.Seen, err, acked)
	}
}

// TestDrainSlowClient has acks that wait for a client to read when their call is
// over: more than HTTP/2 lets out unread, less than makes the call wait. They
// must still arrive.
func TestDrainSlowClient(t *testing.T) {
	const items, idBytes = 110, 1000
	r := start(t, canon.None(), Config{})
	stream, err := r.client(t, grpc.WithInitialWindowSize(1<<16)).PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if err := stream.Send((&player{}).item(fmt.Sprintf("http://a.com/%d id=%0*d", i, idBytes, i))); err != nil {
			t.Fatal(err)
		}
	}
	hang.Until(t, "the items are stored", func() bool {
		st, err := r.store.Stats(t.Context(), "*")
		if err != nil {
			t.Fatal(err)
		}
		return st.Seen == items
	})
	stopped := make(chan error)
	go func() { stopped <- r.stop() }()
	<-r.draining
	time.Sleep(2 * linger)
	for i := range items {
		if ack, err := stream.Recv(); err != nil || ack.Status != pb.AckMessage_OK {
			t.Fatalf("ack %d: got %v, %v; want OK", i, ack, err)
		}
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v; want Unavailable", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestDrainEndsWatchers holds a call open that waits for its client to say
// something, such as reflection: the drain ends it.
func TestDrainEndsWatchers(t *testing.T) {
	r := start(t, canon.None(), Config{})
	stream, err := grpc_reflection_v1.NewServerReflectionClient(r.dial(t, insecureOption())).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- r.stop() }()
	if _, err := stream.Recv(); status.Convert(err).Message() != status.Convert(errDraining).Message() {
		t.Errorf("got %v; want %v", err, errDraining)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestDrainEndsLateWatchers opens a watch when those of before have ended.
func TestDrainEndsLateWatchers(t *testing.T) {
	r := start(t, canon.None(), Config{})
	client := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption()))
	r.drainOnce.Do(func() { close(r.draining) })
	watch, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	for err == nil {
		_, err = watch.Recv()
	}
	if status.Convert(err).Message() != status.Convert(errDraining).Message() {
		t.Errorf("got %v; want %v", err, errDraining)
	}
}

// TestReadiness follows health and readiness to the end.
func TestReadiness(t *testing.T) {
	r := start(t, canon.None(), Config{})
	watch, err := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption())).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "urlfrontier.URLFrontier"})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := watch.Recv(); err != nil || h.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("got %v, %v; want SERVING", h, err)
	}
	if got := get(t, r.url("/readyz")); got != "200 ready\n" {
		t.Errorf("got %q; want ready", got)
	}
	stopped := make(chan error)
	go func() { stopped <- r.stop() }()
	if h, err := watch.Recv(); err != nil || h.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got %v, %v; want NOT_SERVING", h, err)
	}
	if _, err := watch.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v; want the watch to end with the server", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func get(t testing.TB, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}

// TestDiskLow fills a disk and makes room again.
func TestDiskLow(t *testing.T) {
	r := start(t, canon.None(), Config{})
	free := int64(50)
	gate := &diskGate{minFree: 100, log: r.log, free: func() (int64, error) { return free, nil }}
	gate.look()
	c := r.client(t)
	if got := r.request(t, "POST", "/v1/urls", `{"url":"http://b.com/"}`); !strings.Contains(got, `"new"`) {
		t.Fatalf("got %s; want it queued", got)
	}
	r.disk.low.Store(gate.full())
	if got := r.request(t, "GET", "/v1/queues", ""); !strings.Contains(got, `"state":"blocked","reason":"writes, leases`) {
		t.Errorf("got %s; want the reason why nothing is handed out", got)
	}
	if ack := putOne(t, c); ack != pb.AckMessage_FAIL {
		t.Errorf("put: got %s; want FAIL", ack)
	}
	leases, err := c.GetURLs(t.Context(), &pb.GetParams{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leases.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("get: got %v; want ResourceExhausted", err)
	}
	if counts, err := r.counterValues(t.Context()); err != nil || counts[`firstseen_urls_offered_total{verdict="failed"}`] != 1 {
		t.Errorf("got %v URLs counted as failed, %v; want the one that was put", counts[`firstseen_urls_offered_total{verdict="failed"}`], err)
	}
	if got := r.request(t, "POST", "/v1/urls", ""); !strings.HasPrefix(got, "507") {
		t.Errorf("HTTP: got %s; want 507", got)
	}
	for _, status := range []int{429, 503, 507} {
		w := httptest.NewRecorder()
		writeError(w, status, "", "")
		if n, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("%d: got Retry-After %d, %v; want seconds", status, n, err)
		}
	}
	for of, want := range map[string]string{"": "503 writes, leases", "?for=writes": "503 writes, leases", "?for=leases": "503 writes, leases", "?for=reads": "200 ready\n", "?for=x": "400 got"} {
		if got := get(t, r.url("/readyz"+of)); !strings.HasPrefix(got, want) {
			t.Errorf("/readyz%s of a full disk: got %q; want %q", of, got, want)
		}
	}
	for _, step := range []struct {
		free int64
		full bool
	}{{100, true}, {109, true}, {110, false}, {100, false}, {99, true}, {200, false}} {
		free = step.free
		if gate.look(); gate.full() != step.full {
			t.Errorf("with %d bytes free: got full %t; want %t", step.free, gate.full(), step.full)
		}
	}
	r.disk.low.Store(gate.full())
	if ack := putOne(t, c); ack != pb.AckMessage_OK {
		t.Errorf("put with room again: got %s; want OK", ack)
	}
}

func putOne(t testing.TB, c pb.URLFrontierClient) pb.AckMessage_Status {
	t.Helper()
	stream, err := c.PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send((&player{}).item("http://a.com/")); err != nil {
		t.Fatal(err)
	}
	ack, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return ack.Status
}
