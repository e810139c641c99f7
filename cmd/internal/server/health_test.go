package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestHealthAddress probes a daemon that asks for client certificates: the health address
// answers without one, and answers nothing else.
func TestHealthAddress(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("server")
	r := start(t, canon.None(), Config{TLS: TLSConfig{CertFile: cert, KeyFile: key, ClientCAFile: a.file}, HealthAddr: "127.0.0.1:0"})
	if err := r.tryHTTPS(t, a.trusting()); err == nil {
		t.Error("/healthz of the HTTP interface answers without a certificate")
	}
	base := "http://" + r.HealthAddr()
	for path, want := range map[string]string{"/healthz": "200 ok\n", "/readyz": "200 ready\n"} {
		if got := get(t, base+path); got != want {
			t.Errorf("%s: got %q; want %q", path, got, want)
		}
	}
	for _, path := range []string{"/", "/metrics", "/openapi.json", "/v1/stats", "/v1/urls", "/dashboard/"} {
		if got := get(t, base+path); !strings.HasPrefix(got, "404") {
			t.Errorf("%s: got %.20q; want 404", path, got)
		}
	}
	r.drainOnce.Do(func() { close(r.draining) })
	if got := get(t, base+"/readyz"); got != "503 draining\n" {
		t.Errorf("got %q; want draining", got)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestHealthAddressCrowded holds more connections to the health address than it has room
// for: a probe is answered.
func TestHealthAddressCrowded(t *testing.T) {
	r := start(t, canon.None(), Config{HealthAddr: "127.0.0.1:0"})
	for range 4 * maxProbes {
		conn, err := net.Dial("tcp", r.HealthAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if got := get(t, "http://"+r.HealthAddr()+"/healthz"); got != "200 ok\n" {
		t.Errorf("got %q; want ok", got)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestHealthAddressIsChecked(t *testing.T) {
	for _, address := range []string{"7073", "localhost"} {
		if err := (Config{HealthAddr: address}).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "--health") {
			t.Errorf("%q: got %v; want an error about --health", address, err)
		}
	}
	if err := (Config{HealthAddr: "0.0.0.0:7073"}).Check(t.Context()); err != nil {
		t.Errorf("got %v; want any address allowed", err)
	}
}

// askedStore counts how often its counts are asked for.
type askedStore struct {
	store.Store
	asked atomic.Int64
}

func (s *askedStore) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	s.asked.Add(1)
	return s.Store.Stats(ctx, crawl)
}

// TestProbesAskNothingOfTheStore probes readiness many times without a token. Each probe
// took the store's lock.
func TestProbesAskNothingOfTheStore(t *testing.T) {
	st := askedStore{Store: memstore.New(memstore.Options{})}
	f, err := frontier.New(&st, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), f, Config{TokensFile: threeTokens(t)})
	if err != nil {
		t.Fatal(err)
	}
	before := st.asked.Load()
	for range 100 {
		w := httptest.NewRecorder()
		if s.web.routes().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil)); w.Code != http.StatusOK {
			t.Fatalf("got %d; want 200", w.Code)
		}
	}
	if n := st.asked.Load() - before; n != 0 {
		t.Errorf("probes asked the store %d times; want none", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
