package frontier

import (
	"testing"

	"github.com/firstseen/firstseen/canon"
)

func TestQueueKeys(t *testing.T) {
	tests := []struct{ url, host, domain string }{
		{"http://www.example.co.uk/a", "www.example.co.uk", "example.co.uk"},
		{"http://user:pw@a.example.com:8080?q", "a.example.com", "example.com"},
		{"HTTP://UPPER.example#f", "upper.example", "upper.example"},
		{"http://[2001:db8::1]:80/", "[2001:db8::1]", "[2001:db8::1]"},
		{"http://[::1]", "[::1]", "[::1]"},
		{"ftp://127.0.0.1/x", "127.0.0.1", "127.0.0.1"},
		{"http://unknown.example/", "unknown.example", "unknown.example"},
		{"http://under_score.example.com/", "under_score.example.com", "example.com"},
		{"http://localhost/", "localhost", "localhost"},
		{"http:///p", "", ""},
		{"mailto:x@y.example", "", ""},
	}
	for _, tt := range tests {
		if got := ByHost(tt.url); got != tt.host {
			t.Errorf("ByHost(%q): got %q; want %q", tt.url, got, tt.host)
		}
		if got := ByDomain(tt.url); got != tt.domain {
			t.Errorf("ByDomain(%q): got %q; want %q", tt.url, got, tt.domain)
		}
	}
}

// TestOneQueueOfAHost: spellings of a host with and without a final dot are other URLs of one queue, but in an exact crawl.
func TestOneQueueOfAHost(t *testing.T) {
	f := open(t, Options{Delay: -1})
	for url, want := range map[string]string{
		"http://a.example/1": "a.example", "http://A.example./1": "a.example", "http://a.example.:8080/": "a.example", "http://localhost.": "localhost",
	} {
		if r := addOne(t, f, Link{URL: url}); r.Status != StatusNew || r.Queue != want {
			t.Errorf("%s: got %v in queue %q; want it new in %q", url, r.Status, r.Queue, want)
		}
	}
	own := open(t, Options{Delay: -1, QueueBy: func(string) string { return "team." }})
	if r := addOne(t, own, Link{URL: "http://a.example./1"}); r.Queue != "team." {
		t.Errorf("got queue %q; want a name that is no host as it is", r.Queue)
	}
	exact := open(t, Options{Delay: -1, Profile: canon.None()})
	if r := addOne(t, exact, Link{URL: "http://a.example./1"}); r.Queue != "a.example." {
		t.Errorf("got queue %q of an exact crawl; want the one that its keys were made with", r.Queue)
	}
}
