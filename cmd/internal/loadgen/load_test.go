package main

import (
	"slices"
	"testing"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// TestLoad checks that the load is the one announced, and the same every time.
func TestLoad(t *testing.T) {
	l := load{sends: 50_000, hosts: 1000, repeats: 0.7}
	urls := l.urls()
	unique, hosts := map[string]bool{}, map[string]bool{}
	for _, u := range urls {
		unique[u.Url], hosts[u.Key] = true, true
	}
	if n := len(unique); n < 14_500 || n > 15_500 {
		t.Errorf("got %d unique of 50000; want about 15000", n)
	}
	if len(hosts) < 950 {
		t.Errorf("got %d hosts; want nearly 1000", len(hosts))
	}
	same := slices.EqualFunc(urls, l.urls(), func(a, b *pb.URLInfo) bool { return a.Url == b.Url })
	if !same {
		t.Error("two runs differ")
	}
	if a, b := share(urls, 0, 2), share(urls, 1, 2); len(a)+len(b) != len(urls) || a[1] != urls[2] {
		t.Error("the shares are not the whole")
	}
}
