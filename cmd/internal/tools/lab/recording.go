package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/singleflight"
)

// answer is what an application answered for one exact URL, every fourth time twice in a row.
type answer struct {
	Status int
	Header http.Header // the fields in keptFields
	Body   []byte
	Once   bool   // it was asked only once
	Second []byte // the body of the second answer; nil if it was the same
}

// keptFields are the fields of a response that crawlers act on. Cookies are not among them: the recording
// has one answer for a URL, which is the one for a visitor without a session.
var keptFields = []string{"Content-Type", "Location", "Link", "No-Vary-Search", "X-Robots-Tag"}

// recording holds the answers of an application by exact URL. While the application runs, a URL that
// was not asked for before is fetched from it, and recorded. An exhaustive crawl would not end:
// a wiki has endlessly many lists of changes. So the recording is of what any crawler ever asked for, which
// is all that a crawl needs to find the same answers again.
//
// Safe for concurrent use.
type recording struct {
	file string
	live func(ctx context.Context, url string) (*answer, error) // nil: only what is recorded

	mu      sync.Mutex
	answers map[string]*answer // guarded by mu; an answer does not change
	asked   int                // answers since the last save; guarded by mu
	linked  map[string][]link  // the links of pages; guarded by mu

	flight singleflight.Group
	places chan struct{} // limits the requests to the application at a time
}

var errUnrecorded = errors.New("not recorded, and the application does not run")

// openRecording reads a recording; a file that does not exist is an empty one.
func openRecording(file string) (*recording, error) {
	r := &recording{file: file, answers: map[string]*answer{}, linked: map[string][]link{}, places: make(chan struct{}, 3)}
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	if err := gob.NewDecoder(z).Decode(&r.answers); err != nil {
		return nil, fmt.Errorf("cannot read recording %s: %w", file, err)
	}
	return r, nil
}

// save writes the recording, if it has grown.
func (r *recording) save() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == 0 {
		return nil
	}
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(8<<20))
	if err != nil {
		return err
	}
	if err := cmp.Or(gob.NewEncoder(z).Encode(r.answers), z.Close()); err != nil {
		return err
	}
	if err := os.WriteFile(r.file+".new", b.Bytes(), 0o644); err != nil {
		return err
	}
	r.asked = 0
	return os.Rename(r.file+".new", filepath.Clean(r.file))
}

// get returns the answer for a URL.
func (r *recording) get(ctx context.Context, url string) (*answer, error) {
	r.mu.Lock()
	a := r.answers[url]
	r.mu.Unlock()
	if a != nil {
		return a, nil
	}
	if r.live == nil {
		return nil, fmt.Errorf("%s: %w", url, errUnrecorded)
	}
	got, err, _ := r.flight.Do(url, func() (any, error) {
		r.places <- struct{}{}
		defer func() { <-r.places }()
		a, err := r.live(ctx, url)
		if err != nil {
			return nil, err
		}
		h := fnv.New32a()
		_, _ = io.WriteString(h, url)
		if a.Once = h.Sum32()%4 != 0; !a.Once {
			second, err := r.live(ctx, url)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(a.Body, second.Body) {
				a.Second = second.Body
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.answers[url], r.asked = a, r.asked+1
		return a, nil
	})
	if err != nil {
		return nil, err
	}
	return got.(*answer), nil
}

// peek returns the answer for a URL that a crawl fetched, nil if there is none.
func (r *recording) peek(url string) *answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[url]
}

// links returns the links of a recorded page.
func (r *recording) links(url string) []link {
	r.mu.Lock()
	defer r.mu.Unlock()
	links, ok := r.linked[url]
	if !ok {
		links = linksOf(url, r.answers[url])
		r.linked[url] = links
	}
	return links
}

// run is one crawl of a recording: the URLs that were asked for, in order. It is the transport of
// a crawler in this process, and the proxy of one that is not: recordings keep the names of their hosts
// by that, whatever port they are replayed on. Safe for concurrent use.
type run struct {
	rec *recording

	mu  sync.Mutex
	log []string // guarded by mu
	err error    // the first error of the recording; guarded by mu
}

func (c *run) fetch(ctx context.Context, url string) (*answer, error) {
	a, err := c.rec.get(ctx, url)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = cmp.Or(c.err, err)
		return nil, err
	}
	c.log = append(c.log, url)
	return a, nil
}

// RoundTrip makes a run the transport of an http.Client.
func (c *run) RoundTrip(req *http.Request) (*http.Response, error) {
	a, err := c.fetch(req.Context(), req.URL.String())
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: a.Status, Status: fmt.Sprint(a.Status, " ", http.StatusText(a.Status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.Header.Clone(), Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: req,
	}, nil
}

// ServeHTTP makes a run an HTTP proxy.
func (c *run) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect { // some clients tunnel plain HTTP, too
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			_ = conn.Close()
			return
		}
		_ = (&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, inner *http.Request) {
			inner.URL.Scheme, inner.URL.Host = "http", inner.Host
			c.ServeHTTP(w, inner)
		})}).Serve(&oneConn{conn: conn})
		return
	}
	a, err := c.fetch(r.Context(), r.URL.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
		return
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.Body) // the client may have left
	}
}

// oneConn is a listener of one connection that exists already.
type oneConn struct {
	conn net.Conn
	done bool
}

func (l *oneConn) Accept() (net.Conn, error) {
	if l.done {
		return nil, net.ErrClosed // Serve returns; the connection is served on
	}
	l.done = true
	return l.conn, nil
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
