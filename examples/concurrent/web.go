package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
)

// web is a small web of several hosts behind one server on loopback. It records its requests.
type web struct {
	hosts, pages int
	server       *httptest.Server

	mu    sync.Mutex
	pageN map[string]int // by URL
}

func newWeb(hosts, pages int) *web {
	w := &web{hosts: hosts, pages: pages, pageN: make(map[string]int)}
	w.server = httptest.NewServer(w)
	return w
}

// client returns a client for which all hosts are the server.
func (w *web) client() *http.Client {
	addr := w.server.Listener.Addr().String()
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
	}}
}

// ServeHTTP answers with links to the next page here, and to all other hosts.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host, page := strings.ToLower(r.Host), path.Clean(r.URL.Path)
	w.mu.Lock()
	w.pageN[host+page]++
	w.mu.Unlock()
	var n int
	if _, err := fmt.Sscanf(page, "/%d", &n); err == nil && n+1 < w.pages {
		fmt.Fprintf(rw, "http://%s/%d\n", host, n+1)
	}
	for h := range w.hosts {
		fmt.Fprintf(rw, "http://HOST%d.example/./0#from-%s\n", h, host)
	}
}

// report returns how many pages were served, and how many of them twice.
func (w *web) report() (pages, repeated int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.pageN {
		pages++
		if n > 1 {
			repeated++
		}
	}
	return pages, repeated
}
