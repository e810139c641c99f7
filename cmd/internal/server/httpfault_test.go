package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/internal/wire"
)

// oneConn is a listener with one connection.
type oneConn struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { close(l.closed); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// ask sends a request to a handler that waits for wait after it has read its
// body, and returns the first line of the answer.
func ask(t *testing.T, s *httpAPI, wait time.Duration, request string) string {
	t.Helper()
	client, server := net.Pipe()
	l := &oneConn{make(chan net.Conn, 1), make(chan struct{})}
	l.conns <- server
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, held, ok := readJSON[wire.LeaseRequest](s, w, r)
		held.done()
		if !ok {
			return
		}
		select {
		case <-time.After(wait):
			writeText(w, http.StatusOK, "waited")
		case <-r.Context().Done():
			writeText(w, http.StatusServiceUnavailable, "the client is gone")
		}
	})}
	go func() { _ = h.Serve(l) }()
	defer h.Close()
	defer client.Close()
	go func() { _, _ = io.WriteString(client, request) }()
	line, err := bufio.NewReader(client).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(line)
}

// TestBodyDeadline stalls in the middle of a body, and waits for an answer longer
// than a body may take.
func TestBodyDeadline(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"stalled": {`{"max":`, "HTTP/1.1 408 Request Timeout"},
		"whole":   {`{"max":  1}`, "HTTP/1.1 200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHTTPAPI(newMetrics(newService(Config{MaxMessage: 1 << 10, MaxInHand: 1 << 10}, guard{})), false)
				began := time.Now()
				got := ask(t, s, 2*lineTimeout, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n"+c.body)
				if got != c.want || time.Since(began) < lineTimeout {
					t.Errorf("got %q after %v; want %q", got, time.Since(began), c.want)
				}
				if n := s.admission.inHand.Held() + s.admission.received.Held(); n != 0 {
					t.Errorf("got %d bytes that were not given back", n)
				}
			})
		})
	}
}

// TestBodiesInHand checks that bodies wait while all calls together hold all that
// they may, and that small ones don't.
func TestBodiesInHand(t *testing.T) {
	r := start(t, canon.None(), Config{MaxInHand: 1 << 10})
	other := admit.ByToken([32]byte{1})
	long := `{"leases":[{}` + strings.Repeat(" ", smallBody) + `]}`
	for _, path := range []string{"/v1/done", "/v1/urls", "/v1/lease"} {
		if !r.admission.inHand.Try(other, 1<<10) {
			t.Fatal("got bytes that were not given back")
		}
		answer := make(chan string)
		if path != "/v1/urls" {
			r.request(t, "POST", path, `{}`)
		}
		go func() { answer <- r.request(t, "POST", path, long) }()
		select {
		case got := <-answer:
			t.Fatalf("%s: got %s; want it to wait", path, got)
		case <-time.After(20 * time.Millisecond):
			r.admission.inHand.Give(other, 1<<10)
			<-answer
		}
	}
}

// TestManyShortURLs forgets as many URLs as a body holds, of which each is as short as a URL can be, and refuses
// more elements than a body may have.
func TestManyShortURLs(t *testing.T) {
	r := start(t, canon.None(), Config{MaxMessage: 128 << 10})
	short := `{"url":"ftp://a"}`
	for _, c := range []struct {
		url, want string
		n         int
	}{
		{short, `200 {"forgotten":0}`, 1},
		{short, `200 {"forgotten":0}`, 100},
		{short, `200 {"forgotten":0}`, (128<<10 - len(`{"urls":[]}`)) / len(short+",")},
		{short, `413 `, (128 << 10) / len(short)},
		{"{}", `400 {"error":{"code":"too-long","message":"cannot read body; got a list of 40000 elements; want at most 32768`, 40000},
	} {
		got := r.request(t, "POST", "/v1/forget", `{"urls":[`+strings.TrimSuffix(strings.Repeat(c.url+",", c.n), ",")+`]}`)
		if got = strings.Replace(got, "\n", " ", 1); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d of %s: got %.100s; want %s", c.n, c.url, got, c.want)
		}
	}
}

// TestTinyLeases checks that more leases than a body may have are refused before they
// take memory, and those that can't be any at the first.
func TestTinyLeases(t *testing.T) {
	r := start(t, canon.None(), Config{})
	lease := `{"key":"0123456789abcdef0123456789abcdef","token":"1"}`
	for _, c := range []struct {
		lease string
		n     int
		want  string
	}{
		{"{}", maxItems + 1, `400 {"error":{"code":"too-long","message":"cannot read body; got a list of 32769 elements`},
		{"null", maxItems, `400 {"error":{"code":"json","message":"cannot read body; got a JSON null`},
		{"{}", fewOf, `400 {"error":{"code":"invalid","message":"cannot read body; the field \"key\" is missing`},
		{lease, 10 * fewOf, `200 {"answers":["stale"`},
	} {
		body := fmt.Sprintf(`{"leases":[%s]}`, strings.TrimSuffix(strings.Repeat(c.lease+",", c.n), ","))
		got := strings.Replace(r.request(t, "POST", "/v1/done", body), "\n", " ", 1)
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%d of %s: got %.100s; want %s", c.n, c.lease, got, c.want)
		}
	}
}

func TestCountElements(t *testing.T) {
	for body, want := range map[string]int{
		`{}`: 1, `{"a":[1,2,3],"b":4}`: 3, `{"a":[[1,2],"x,]\",",{"b":1,"c":2}]}`: 3, `"\`: 1, `]],`: 1, `{"a":[,,`: 3,
	} {
		if got := countElements([]byte(body)); got != want {
			t.Errorf("%s: got %d; want %d", body, got, want)
		}
	}
}

// TestAnswerHoldsNothing checks that a client that is slow to read what became of its
// leases keeps no memory from others.
func TestAnswerHoldsNothing(t *testing.T) {
	r := start(t, canon.None(), Config{MaxInHand: 1 << 20})
	lease := `{"key":"0123456789abcdef0123456789abcdef","token":"1"}`
	body := `{"leases":[` + strings.Repeat(lease+",", 2*fewOf) + lease + `]}`
	w := &answerProbe{ResponseRecorder: httptest.NewRecorder(), write: func() {
		if n := r.admission.inHand.Held(); n > 16<<10 {
			t.Errorf("got %d bytes held while the answer is written; want those of the answer", n)
		}
	}}
	posted(r.web, "settle", 0, r.web.postDone)(w, httptest.NewRequest("POST", "/v1/done", strings.NewReader(body)))
	if !strings.HasPrefix(w.Body.String(), `{"answers":["stale"`) {
		t.Errorf("got %.100s; want an answer for each lease", w.Body)
	}
}

// answerProbe calls write when an answer is written.
type answerProbe struct {
	*httptest.ResponseRecorder
	write func()
}

func (w *answerProbe) Write(b []byte) (int, error) {
	w.write()
	return w.ResponseRecorder.Write(b)
}
