package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealth asks daemons that are healthy, drain, and are not there.
func TestHealth(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}))
	addr := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--daemon " + addr, 0, "ok\n"},
		{"--ready --daemon " + addr, statusFailed, "is not healthy: draining"},
		{"", statusMisuse, "got no --daemon"},
	} {
		status, out, errOut := runCommand(t, append([]string{"health"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%s: got status %d, %s%s; want %d, %s", c.args, status, out, errOut, c.status, c.want)
		}
	}
	s.Close()
	if status, _, got := runCommand(t, "health", "--daemon", addr); status != statusFailed || !strings.Contains(got, "is it running") {
		t.Errorf("got status %d, %s; want the daemon not to be there", status, got)
	}
}
