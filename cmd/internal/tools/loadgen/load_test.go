package main

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// TestLoad checks that the load is the one announced, and the same every time.
func TestLoad(t *testing.T) {
	l := load{sends: 50_000, hosts: 1000, repeats: 0.7}
	urls := l.urls()
	unique, hosts := map[string]bool{}, map[string]bool{}
	for _, b := range urls {
		var u pb.URLInfo
		if err := proto.Unmarshal(b, &u); err != nil {
			t.Fatal(err)
		}
		unique[u.Url], hosts[u.Key] = true, true
	}
	if n := len(unique); n < 14_500 || n > 15_500 {
		t.Errorf("got %d unique of 50000; want about 15000", n)
	}
	if len(hosts) < 950 {
		t.Errorf("got %d hosts; want nearly 1000", len(hosts))
	}
	if !slices.EqualFunc(urls, l.urls(), bytes.Equal) {
		t.Error("two runs differ")
	}
	if a, b := share(urls, 0, 2), share(urls, 1, 2); len(a)+len(b) != len(urls) || !bytes.Equal(a[1], urls[2]) {
		t.Error("the shares are not the whole")
	}
}
