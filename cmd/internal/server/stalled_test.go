package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// In the tests of this file, clients send too much or do not read. The tests bound the memory of
// the server for them, and check that another client is served.

const (
	stallToken  = "write-stalls-012345678"
	honestToken = "write-honest-012345678"
)

func startWithTwo(t *testing.T, cfg Config, before ...func(*Server)) *running {
	t.Helper()
	cfg.TokensFile = tokenFile(t, "write "+stallToken+"\nwrite "+honestToken+"\n")
	return startBefore(t, canon.None(), cfg, func(s *Server) {
		for _, change := range before {
			change(s)
		}
	})
}

// honest has another client add and lease.
func (r *running) honest(t *testing.T) {
	t.Helper()
	c := r.client(t, withToken(honestToken))
	for i := range 3 {
		ctx := hang.Context(t)
		stream, err := c.PutURLs(ctx)
		if err == nil {
			err = stream.Send((&player{}).item(fmt.Sprintf("http://honest.example/%d", i)))
		}
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatalf("another client's add: %v", err)
		}
		leases, err := c.GetURLs(ctx, &pb.GetParams{Key: "honest.example", Item: &pb.GetParams_CrawlID{CrawlID: ""}, MaxUrlsPerQueue: 1})
		if err == nil {
			_, err = leases.Recv()
		}
		if err != nil && err != io.EOF { // in its delay
			t.Fatalf("another client's lease: %v", err)
		}
	}
}

// dialRaw opens a connection that the test ends.
func dialRaw(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	return conn
}

// TestStalledPages asks for pages without a token and reads nothing: none of them has a
// place of the calls that have tokens.
func TestStalledPages(t *testing.T) {
	r := startWithTwo(t, Config{MaxCalls: 16})
	ask := strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 300)
	for range 2 * maxOpen {
		conn := dialRaw(t, r.HTTPAddr())
		go func() { _, _ = io.WriteString(conn, ask) }() // until the test ends
	}
	hang.Until(t, "many pages are being sent", func() bool { return r.admission.open.Open() > maxOpen/2 })
	if n := r.admission.calls.Held(); n != 0 {
		t.Errorf("pages hold %d places of calls; want none", n)
	}
	if n := r.admission.open.Open(); n > maxOpen {
		t.Errorf("got %d open pages; want at most %d", n, maxOpen)
	}
	r.honest(t)
}

// callFrames are the frames that begin a call.
func callFrames(t *testing.T, method, token string) []byte {
	t.Helper()
	var block, b bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"authorization", "Bearer " + token}} {
		if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString(preface)
	fr := http2.NewFramer(&b, nil)
	if err := fr.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHalfSentMessages begins messages of 4 MiB on many connections and ends none, without
// a token and with one. The server keeps no more than its pools allow.
func TestHalfSentMessages(t *testing.T) {
	const conns, most = 200, 64 << 20
	for name, token := range map[string]string{"a stranger": "wrong", "a client": stallToken} {
		t.Run(name, func(t *testing.T) {
			r := startWithTwo(t, Config{MaxInHand: 8 << 20, MaxMessage: 4 << 20, MaxCalls: 2 * conns},
				func(s *Server) { s.patience = 2 * time.Second })
			before := heap()
			half := callFrames(t, pb.URLFrontier_GetStats_FullMethodName, token)
			var b bytes.Buffer
			fr := http2.NewFramer(&b, nil)
			message := binary.BigEndian.AppendUint32([]byte{0}, 4<<20)
			for range 60 << 10 / (16 << 10) { // as much as the first window allows
				if err := fr.WriteData(1, false, append(message, make([]byte, 16<<10-len(message))...)); err != nil {
					t.Fatal(err)
				}
				message = nil
			}
			for range conns {
				conn := dialRaw(t, r.GRPCAddr())
				go func() {
					_, _ = conn.Write(append(half[:len(half):len(half)], b.Bytes()...)) // the server may have closed it
					_, _ = io.Copy(io.Discard, conn)
				}()
			}
			if token == stallToken {
				hang.Until(t, "messages are being received", func() bool { return r.admission.received.Held() > 0 })
			} else {
				hang.Until(t, "calls are refused", func() bool { return unauthorized(t, r) >= conns })
			}
			if a, b := r.admission.received.Held(), r.admission.strange.Held(); a > 32<<20 || b > strangeBytes {
				t.Errorf("got %d and %d bytes received; want at most %d and %d", a, b, 32<<20, strangeBytes)
			}
			if grown := int64(heap()) - int64(before); grown > most {
				t.Errorf("memory grew by %d bytes; want at most %d", grown, most)
			}
			r.honest(t)
		})
	}
}

// unauthorized returns how many calls were refused for their tokens.
func unauthorized(t *testing.T, r *running) (n int) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "firstseen_auth_failures_total" {
			for _, m := range f.GetMetric() {
				n += int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}

// unreading is a client that reads as little of each call as gRPC allows.
func (r *running) unreading(t *testing.T) pb.URLFrontierClient {
	return r.client(t, withToken(stallToken), grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<20))
}

// TestUnreadAcknowledgements puts over many streams and reads no answer. The client has
// its share of the memory, and another client adds.
func TestUnreadAcknowledgements(t *testing.T) {
	r := startWithTwo(t, Config{MaxInHand: 4 << 20})
	id := strings.Repeat("i", 1<<10)
	for range 16 {
		c := r.unreading(t)
		for range 5 {
			stream, err := c.PutURLs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for i := 0; ; i++ {
					it := (&player{}).item(fmt.Sprintf("http://stalls.example/%d", i%100))
					if it.ID = id; stream.Send(it) != nil {
						return
					}
				}
			}()
		}
	}
	hang.Until(t, "the client has much of its share", func() bool { return r.admission.inHand.Held() > 2<<20 })
	if n := r.admission.inHand.Held(); n > 3<<20 {
		t.Errorf("got %d bytes held; want at most three quarters of %d", n, 4<<20)
	}
	r.honest(t)
}

// largeMeta is the metadata of URLs of addLarge, in bytes.
const largeMeta = 60_000

// addLarge adds each URLs with much metadata in each of so many queues.
func (r *running) addLarge(t *testing.T, hosts, each int) {
	t.Helper()
	meta := AppendMetadata(nil, map[string][]string{"a": {strings.Repeat("m", largeMeta)}})
	for host := range hosts {
		links := make([]frontier.Link, each)
		for i := range links {
			links[i] = frontier.Link{URL: fmt.Sprintf("http://%d.example/%d", host, i), Meta: meta}
		}
		if _, err := r.f.own.AddBatch(t.Context(), links); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreadLeases leases URLs with much metadata over many calls and reads none of them.
func TestUnreadLeases(t *testing.T) {
	const hosts, each, most = 64, 16, 48 << 20
	r := startWithTwo(t, Config{MaxInHand: 16 << 20})
	r.addLarge(t, hosts, each)
	before := heap()
	for range 8 {
		if _, err := r.unreading(t).GetURLs(t.Context(), &pb.GetParams{}); err != nil {
			t.Fatal(err)
		}
		conn := dialRaw(t, r.HTTPAddr())
		body := `{"crawl":"*","max":4096,"max_per_queue":100}`
		_, _ = fmt.Fprintf(conn, "POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", stallToken, len(body), body)
	}
	hang.Until(t, "leases are being sent", func() bool { return r.admission.inHand.Held() > 0 })
	if n := r.admission.inHand.Held(); n > 16<<20 {
		t.Errorf("got %d bytes held; want at most %d", n, 16<<20)
	}
	stats, err := r.f.own.Stats(t.Context(), "*")
	if err != nil || stats.InFlight >= hosts*each/2 {
		t.Errorf("got %d leases, %v; want few of %d, since nothing reads them", stats.InFlight, err, hosts*each)
	}
	if grown := int64(heap()) - int64(before); grown > most {
		t.Errorf("memory grew by %d bytes; want at most %d", grown, most)
	}
	r.honest(t)
}

// TestUnsentLeasesCount leases over calls whose handlers return: their last messages are in
// gRPC's buffers until the client takes them, and count until then.
func TestUnsentLeasesCount(t *testing.T) {
	const calls = 8
	r := startWithTwo(t, Config{})
	r.addLarge(t, 2*calls, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := r.unreading(t)
	for range calls { // one URL fits into the window of each
		if _, err := c.GetURLs(ctx, &pb.GetParams{MaxQueues: 2, MaxUrlsPerQueue: 1}); err != nil {
			t.Fatal(err)
		}
	}
	hang.Until(t, "the handlers have returned", func() bool {
		n := 0
		for _, c := range r.admission.all() {
			if c.done.Load() != 0 {
				n++
			}
		}
		return n == calls
	})
	if n := r.admission.inHand.Held(); n < calls*largeMeta {
		t.Errorf("got %d bytes held; want at least %d, which wait to be sent", n, calls*largeMeta)
	}
	cancel()
	hang.Until(t, "the calls have ended", func() bool { return r.admission.inHand.Held() == 0 })
}

// TestLeasesComeInPieces takes more than a step leases, over both interfaces.
func TestLeasesComeInPieces(t *testing.T) {
	r := start(t, canon.None(), Config{})
	meta := bytes.Repeat([]byte("m"), 50_000)
	const hosts = 3 * leaseBytes / 50_000
	for host := range hosts {
		if _, err := r.f.AddBatch(t.Context(), []frontier.Link{{URL: fmt.Sprintf("http://%d.example/", host), Meta: meta}}); err != nil {
			t.Fatal(err)
		}
	}
	_, first := r.ask(t, "POST", "/v1/lease", `{"max":4096}`)
	n := strings.Count(first, `"token"`)
	if want := leaseBytes/len(meta) + 1; n < want-1 || n > want {
		t.Errorf("got %d leases in one answer; want about %d, of %d bytes", n, want, leaseBytes)
	}
	stream, err := r.client(t).GetURLs(t.Context(), &pb.GetParams{})
	if err != nil {
		t.Fatal(err)
	}
	for ; ; n++ {
		if _, err := stream.Recv(); err != nil {
			break
		}
	}
	if n != hosts {
		t.Errorf("got %d URLs in all; want %d", n, hosts)
	}
	if held := r.admission.inHand.Held(); held != 0 {
		t.Errorf("got %d bytes held at the end; want none", held)
	}
}

// TestRevokedTokenEndsCalls takes a token away from a client with an open stream, an idle
// one, and a call that waits for a lease. The calls of the other client continue.
func TestRevokedTokenEndsCalls(t *testing.T) {
	r := startWithTwo(t, Config{})
	open := func(token string) pb.URLFrontier_PutURLsClient {
		stream, err := r.client(t, withToken(token)).PutURLs(t.Context())
		if err == nil {
			err = stream.Send((&player{}).item("http://a.example/"))
		}
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	revoked, kept := open(stallToken), open(honestToken)
	waiting := dialRaw(t, r.HTTPAddr())
	body := `{"crawl":"none","wait_seconds":60,"stay":true}`
	_, _ = fmt.Fprintf(waiting, "POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", stallToken, len(body), body)
	hang.Until(t, "a call waits for a lease", func() bool { return r.admission.waiting.Held() == 1 })
	if err := rewrite(r.cfg.TokensFile, "write "+honestToken+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := revoked.Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the stream of the revoked token: got %v; want Unauthenticated", err)
	}
	hang.Until(t, "the call that waits ends", func() bool { return r.admission.waiting.Held() == 0 })
	if err := kept.Send((&player{}).item("http://a.example/2")); err != nil {
		t.Error(err)
	}
	if ack, err := kept.Recv(); err != nil || ack.Status != pb.AckMessage_OK {
		t.Errorf("the other client: got %v, %v; want OK", ack, err)
	}
}

// TestFailedTokensAreLoggedAndCounted guesses tokens over both interfaces: each is counted,
// few are logged, with the address and nothing of the token.
func TestFailedTokensAreLoggedAndCounted(t *testing.T) {
	var log logged
	r := startWithTwo(t, Config{}, func(s *Server) { s.log = slog.New(slog.NewTextHandler(&log, nil)) })
	const guesses = 40
	for i := range guesses {
		guess := fmt.Sprintf("guess-%d-0123456789abcdef", i)
		if i%2 == 0 {
			_, err := r.client(t, withToken(guess)).GetActive(t.Context(), &pb.Local{})
			if status.Code(err) != codes.Unauthenticated {
				t.Fatalf("got %v; want Unauthenticated", err)
			}
			continue
		}
		conn := dialRaw(t, r.HTTPAddr())
		_, _ = fmt.Fprintf(conn, "GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", guess)
		if answer, _ := io.ReadAll(conn); !bytes.HasPrefix(answer, []byte("HTTP/1.1 401 ")) {
			t.Fatalf("got %.40q; want 401", answer)
		}
	}
	if n := unauthorized(t, r); n != guesses {
		t.Errorf("got %d failures counted; want %d", n, guesses)
	}
	text := log.String()
	if n := strings.Count(text, "refused because of its token"); n != 1 || !strings.Contains(text, "address=127.0.0.1") || strings.Contains(text, "guess-") {
		t.Errorf("got %d lines; want one, with the address alone:\n%s", n, text)
	}
}

// TestManyWatchesOfOneConnection watches health from one connection as often as it may:
// another client watches, too.
func TestManyWatchesOfOneConnection(t *testing.T) {
	r := startWithTwo(t, Config{})
	greedy := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption()))
	for range 2 * maxOpen {
		w, err := greedy.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err == nil {
			go func() { _, _ = w.Recv() }()
		}
	}
	if n := r.admission.open.Open(); n > maxOpen {
		t.Errorf("got %d watches; want at most %d", n, maxOpen)
	}
	w, err := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption())).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = w.Recv()
	}
	if err != nil {
		t.Errorf("another watch: %v", err)
	}
}

// TestWarnsOfPublicPorts has one port or the other beyond loopback.
func TestWarnsOfPublicPorts(t *testing.T) {
	for name, public := range map[string]Config{
		"http": {GRPCAddr: "127.0.0.1:0", HTTPAddr: "0.0.0.0:0"},
		"grpc": {GRPCAddr: "0.0.0.0:0", HTTPAddr: "127.0.0.1:0"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logged
			public.InsecurePublic, public.Logger = true, slog.New(slog.NewTextHandler(&log, nil))
			f, _ := openFrontier(t, canon.None(), newClock())
			s, err := New(t.Context(), f, public)
			if err == nil {
				err = s.Listen(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			s.warn()
			if err := s.closeListeners(); err != nil {
				t.Error(err)
			}
			text := log.String()
			for _, want := range []string{"without TLS on an address that other machines can reach", "without tokens or client certificates"} {
				if strings.Count(text, want) != 1 || !strings.Contains(text, " "+name+"=") {
					t.Errorf("got %q; want one warning with %q of %s", text, want, name)
				}
			}
		})
	}
}

// TestHalfSentBodies begins bodies of all kinds over many connections and ends none. They
// can't keep the daemon from ending, nor wait for each other for long.
func TestHalfSentBodies(t *testing.T) {
	r := startWithTwo(t, Config{MaxInHand: 2 << 20, MaxMessage: 1 << 18, MaxURL: 1 << 16, Drain: 5 * time.Second})
	var conns []net.Conn
	for i := range 60 {
		conn := dialRaw(t, r.HTTPAddr())
		conns = append(conns, conn)
		path := []string{"/v1/done", "/v1/urls", "/v1/import"}[i%3]
		go func() { // the server may close the connection
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{\"url\":\"%s",
				path, stallToken, 1<<18, strings.Repeat("x", 200<<10))
		}()
	}
	hang.Until(t, "calls wait for memory", r.admission.received.Waits)
	r.honest(t)
	for _, conn := range conns {
		_ = conn.Close() // not an error here, either
	}
	hang.Within(t, "the end of the server", func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	if n := r.admission.received.Held(); n != 0 {
		t.Errorf("got %d bytes held at the end; want none", n)
	}
}
