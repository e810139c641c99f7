package frontier

import "testing"

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
