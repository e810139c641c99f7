package frontier

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
)

func TestQueueKeys(t *testing.T) {
	resolve := func(host string) (netip.Addr, error) {
		if host == "unknown.example" {
			return netip.Addr{}, errors.New("no such host")
		}
		return netip.ParseAddr("::ffff:192.0.2.7")
	}
	byIP := ByIP(resolve)
	tests := []struct{ url, host, domain, ip string }{
		{"http://www.example.co.uk/a", "www.example.co.uk", "example.co.uk", "192.0.2.7"},
		{"http://user:pw@a.example.com:8080?q", "a.example.com", "example.com", "192.0.2.7"},
		{"HTTP://UPPER.example#f", "upper.example", "upper.example", "192.0.2.7"},
		{"http://[2001:db8::1]:80/", "[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]"},
		{"http://[::1]", "[::1]", "[::1]", "[::1]"},
		{"ftp://127.0.0.1/x", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
		{"http://unknown.example/", "unknown.example", "unknown.example", "unknown.example"},
		{"http://under_score.example.com/", "under_score.example.com", "example.com", "192.0.2.7"},
		{"http://localhost/", "localhost", "localhost", "192.0.2.7"},
		{"http:///p", "", "", ""},
		{"mailto:x@y.example", "", "", ""},
	}
	for _, tt := range tests {
		if got := ByHost(tt.url); got != tt.host {
			t.Errorf("ByHost(%q): got %q; want %q", tt.url, got, tt.host)
		}
		if got := ByDomain(tt.url); got != tt.domain {
			t.Errorf("ByDomain(%q): got %q; want %q", tt.url, got, tt.domain)
		}
		if got := byIP(tt.url); got != tt.ip {
			t.Errorf("ByIP(%q): got %q; want %q", tt.url, got, tt.ip)
		}
	}
}

func TestByIPAsksOncePerHost(t *testing.T) {
	var asked atomic.Int32
	key := ByIP(func(string) (netip.Addr, error) {
		asked.Add(1)
		return netip.ParseAddr("192.0.2.1")
	})
	for range 5 {
		key("http://a.example/")
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("got %d questions; want 1", n)
	}
}
