package server

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// alive fails the test if an honest client isn't served.
func (r *running) alive(t testing.TB) {
	t.Helper()
	if _, err := r.client(t).GetActive(t.Context(), &pb.Local{}); err != nil {
		t.Errorf("an honest client: %v", err)
	}
}

func TestOversized(t *testing.T) {
	r := start(t, canon.None(), Config{MaxMessage: 1 << 16})
	stream, err := r.client(t).PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	big := (&player{}).item("http://a.com/ known=0")
	big.ID = strings.Repeat("x", 1<<17)
	_ = stream.Send(big) // the refusal may come first
	if _, err := stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v; want ResourceExhausted", err)
	}
	_, err = r.client(t).GetStats(t.Context(), &pb.QueueWithinCrawlParams{Key: strings.Repeat("k", 1<<17)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("unary: got %v; want ResourceExhausted", err)
	}
	r.alive(t)
}

func TestOversizedMetadata(t *testing.T) {
	r := start(t, canon.None(), Config{MaxMetadata: 100, MaxURL: 50})
	acks := r.put(t,
		(&player{}).item("http://a.com/1 m.a="+strings.Repeat("x", 50)),
		(&player{}).item("http://a.com/2 m.a="+strings.Repeat("x", 100)),
		(&player{}).item("http://a.com/"+strings.Repeat("x", 50)),
	)
	for i, want := range []pb.AckMessage_Status{pb.AckMessage_OK, pb.AckMessage_SKIPPED, pb.AckMessage_SKIPPED} {
		if acks[i].Status != want {
			t.Errorf("item %d: got %s; want %s", i, acks[i].Status, want)
		}
	}
}

// TestOversizedMetadataOfAResult takes the results of fetches and leaves their metadata out, as gRPC and
// as an import have it; a redirect that the metadata names is followed.
func TestOversizedMetadataOfAResult(t *testing.T) {
	r := start(t, canon.Qiita(), Config{MaxMetadata: 100})
	large := " m.a=" + strings.Repeat("x", 200)
	acks := r.put(t, (&player{}).item("http://a.com/1 known=0"+large), (&player{}).item("http://b.com//2 known=0 m._redirTo=http://b.com/2"+large))
	imported := r.sendLines(t, "/v1/import", strings.NewReader(
		`{"known":{"info":{"url":"http://c.com/3","metadata":{"a":{"values":["`+strings.Repeat("x", 200)+`"]}}}}}`))
	for i, got := range []string{acks[0].Status.String(), acks[1].Status.String(), imported[0].Status} {
		if got != "OK" {
			t.Errorf("item %d: got %s; want OK", i, got)
		}
	}
	for url, date := range map[string]bool{"http://a.com/1": false, "http://b.com/2": true, "http://c.com/3": false} {
		item, err := r.rpc.GetURLStatus(t.Context(), &pb.URLStatusRequest{Url: url})
		if err != nil || item.GetKnown().GetRefetchableFromDate() > 0 != date || len(item.GetKnown().GetInfo().GetMetadata()) > 0 || item.GetKnown().GetInfo().GetUrl() != url {
			t.Errorf("%s: got %v, %v; want its result, without metadata", url, item, err)
		}
	}
	if _, metrics := r.ask(t, "GET", "/metrics", ""); !strings.Contains(metrics, "\nfirstseen_metadata_dropped_total 3\n") {
		t.Error("/metrics does not have firstseen_metadata_dropped_total 3")
	}
	body := fmt.Sprintf(`{"leases":[{"key":"%032x","token":"1","meta":%q}]}`, 1, base64.StdEncoding.EncodeToString(make([]byte, 200)))
	if code, answer := r.ask(t, "POST", "/v1/done", body); code != "400" || !strings.Contains(answer, "want at most 100") {
		t.Errorf("got %s %s; want metadata that is too large refused", code, answer)
	}
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// settings is an empty SETTINGS frame.
const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// TestGarbage sends what no client would. The server ends those connections
// and serves the others.
func TestGarbage(t *testing.T) {
	r := start(t, canon.None(), Config{HandshakeTimeout: hang.Limit}) // binds alive, too
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	for name, bytes := range map[string]string{
		"nothing":              "",
		"noise":                string(noise),
		"http/1":               "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"half a preface":       preface[:10],
		"frames before":        preface + string(noise),
		"a frame of 16 MB":     preface + "\xff\xff\xff\x00\x00\x00\x00\x00\x01" + string(noise),
		"unknown stream":       preface + settings + "\x00\x00\x04\x00\x01\x00\x00\x00\x07abcd",
		"garbage headers":      preface + settings + "\x00\x00\x08\x01\x04\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff",
		"window of zero":       preface + settings + "\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"continuation of none": preface + settings + "\x00\x00\x01\x09\x00\x00\x00\x00\x01x",
	} {
		for _, addr := range []string{r.GRPCAddr(), r.HTTPAddr()} {
			send(t, addr, bytes)
		}
		t.Log(name)
	}
	r.alive(t)
}

// send writes to a connection, ends its side, and waits for the server to end
// the other.
func send(t *testing.T, addr, bytes string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hang.Limit))
	_, _ = io.WriteString(conn, bytes) // the server may have closed it
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	var late net.Error
	if _, err := io.Copy(io.Discard, conn); errors.As(err, &late) && late.Timeout() {
		t.Errorf("%.20q to %s: the server keeps the connection", bytes, addr)
	}
}

// TestBrokenBody: a client that ends its side in the middle of a body is told, and no line is stored of which a part is missing.
func TestBrokenBody(t *testing.T) {
	r := start(t, canon.None(), Config{})
	for _, lines := range []string{"", `{"url":"http://a.com/"}` + "\n"} {
		conn, err := net.Dial("tcp", r.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(hang.Limit))
		_, err = fmt.Fprintf(conn, "POST /v1/urls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n%s{\"url\":\"http://b", lines)
		if err = errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil { // of Dial with "tcp"
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if text := string(answer); err != nil || !strings.HasPrefix(text, "HTTP/1.1 400") || !strings.Contains(text, `"verdict":"failed"`) {
			t.Errorf("after %q: got %q, %v; want a failure", lines, text, err)
		}
	}
}

// TestBrokenAfterAnswers: a body that breaks off after some lines were answered ends with a failure, also where the client waited for
// the answers.
func TestBrokenAfterAnswers(t *testing.T) {
	r := start(t, canon.None(), Config{})
	for _, path := range []string{"/v1/urls", "/v1/seen"} {
		conn, err := net.Dial("tcp", r.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(hang.Limit))
		line := `{"url":"http://a.com` + path + `"}` + "\n"
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", path, len(line), line)
		if err != nil {
			t.Fatal(err)
		}
		in, text := bufio.NewReader(conn), ""
		for !strings.Contains(text, `"verdict":"new"`) {
			more, err := in.ReadString('\n')
			if text += more; err != nil {
				t.Fatal(text, err)
			}
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil { // of Dial with "tcp"
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), `"verdict":"failed"`) {
			t.Errorf("%s: got %q, then %q, %v; want a failure", path, text, rest, err)
		}
	}
}

// TestHalfOpen checks that a client that says nothing, or only half, is not
// kept.
func TestHalfOpen(t *testing.T) {
	r := start(t, canon.None(), Config{HandshakeTimeout: 50 * time.Millisecond})
	for addr, half := range map[string]string{r.GRPCAddr(): preface[:7], r.HTTPAddr(): "GET /v1/stats HTTP/1.1\r\nHost: local"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(hang.Limit))
		if _, err := io.WriteString(conn, half); err != nil {
			t.Fatal(err)
		}
		var late net.Error
		if _, err := io.Copy(io.Discard, conn); errors.As(err, &late) && late.Timeout() {
			t.Errorf("%s: the server keeps a half-open connection", addr)
		}
	}
}

// asIdler makes the test binary hold idle connections to the address given, so
// that each side has open files of its own.
const asIdler = "FIRSTSEEN_TEST_IDLER"

// idleConnections is how many; make torture opens more.
func idleConnections() int {
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		return 10_000
	}
	return 2000
}

func TestMain(m *testing.M) {
	if addr := os.Getenv(asIdler); addr != "" {
		idle(addr)
		return
	}
	os.Exit(hang.Main(m, func() error { return goleak.Find() }))
}

// idle finishes the handshake of many connections, prints a line to stdout, and is silent
// until stdin ends.
func idle(addr string) {
	conns := make([]net.Conn, idleConnections())
	for i := range conns {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_, err = io.WriteString(conn, preface+settings)
		}
		if err == nil { // the server's settings come when its side is set up
			_, err = conn.Read(make([]byte, 16))
		}
		if err != nil {
			fmt.Println(i, err)
			return
		}
		conns[i] = conn
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(conns)
}

// TestIdleConnections has ten thousand connections that have finished the
// handshake and say nothing more.
func TestIdleConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("opens thousands of connections")
	}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil || int(lim.Cur) < idleConnections()+500 {
		t.Skipf("needs %d open files; got a limit of %d, %v", idleConnections()+500, lim.Cur, err)
	}
	r := start(t, canon.None(), Config{HandshakeTimeout: hang.Limit})
	before := heap()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asIdler+"="+r.GRPCAddr())
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the idle client: %q, %v", line, err)
	}
	r.alive(t)
	per := (int64(heap()) - int64(before)) / int64(idleConnections())
	t.Logf("%d bytes of heap and stack for each idle connection", per)
	if per > 64<<10 {
		t.Errorf("got %d bytes for each idle connection; want at most 64 KiB", per)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// TestCallLimit checks that a client gets its share of the calls, and that others find
// places.
func TestCallLimit(t *testing.T) {
	r := start(t, canon.None(), Config{MaxCalls: 8, TokensFile: threeTokens(t)})
	for _, client := range []struct {
		token string
		want  int
	}{{writeToken, 6}, {adminToken, 1}} {
		c, got := r.client(t, withToken(client.token)), 0
		for hold(t, c) == nil {
			got++
		}
		if got != client.want {
			t.Errorf("got %d calls; want %d", got, client.want)
		}
		if err := hold(t, c); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one call more: got %v; want ResourceExhausted", err)
		}
	}
}

// TestHealthLimit has clients without a token watch health as often as they may: the
// oldest watches end for others, and the calls of clients with a token are served.
func TestHealthLimit(t *testing.T) {
	r := start(t, canon.None(), Config{MaxCalls: 4, MaxStreams: 2 * maxOpen, TokensFile: threeTokens(t)})
	watch := func(h grpc_health_v1.HealthClient) grpc.ServerStreamingClient[grpc_health_v1.HealthCheckResponse] {
		w, err := h.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err == nil {
			_, err = w.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	var watches []grpc.ServerStreamingClient[grpc_health_v1.HealthCheckResponse]
	for range maxOpen / 4 { // each connection of a stranger has a few
		h := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption()))
		for range 4 {
			watches = append(watches, watch(h))
		}
	}
	if _, err := watches[0].Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the oldest watch: got %v; want ResourceExhausted", err)
	}
	if n := r.admission.open.Open(); n > maxOpen {
		t.Errorf("got %d open calls; want at most %d", n, maxOpen)
	}
	for range 2 {
		if err := hold(t, r.client(t, withToken(writeToken))); err != nil {
			t.Errorf("a call: %v", err)
		}
	}
	health := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption()))
	if _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("health under load: %v", err)
	}
	watch(health)
}

// withToken sends a token with each call.
func withToken(token string) grpc.DialOption { return grpc.WithPerRPCCredentials(bearer(token)) }

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// hold opens a stream and leaves it open, after one answer.
func hold(t *testing.T, c pb.URLFrontierClient) error {
	t.Helper()
	stream, err := c.PutDiscovered(t.Context())
	if err != nil {
		return err
	}
	_ = stream.Send(&pb.DiscoveredBatch{}) // the refusal may come first
	_, err = stream.Recv()
	return err
}

// TestPanic checks that a bug in one call ends only that call.
func TestPanic(t *testing.T) {
	r := start(t, canon.None(), Config{})
	err := func() (err error) {
		defer r.recovered("/x/Y", &err)
		panic("bug")
	}()
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "bug") {
		t.Errorf("got %v; want Internal, and nothing of the panic", err)
	}
}
