package main

import (
	"strings"
	"testing"
)

// TestServeQueueBy has a daemon queue two hosts of a domain together.
func TestServeQueueBy(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	d := startDaemon(t, t.TempDir(), "--queue-by", "domain")
	verdicts(t, d.http, []string{"http://a.site.co.uk/", "http://b.site.co.uk/", "http://other.co.uk/"})
	got := command(t, "list", "--daemon", d.http)
	if strings.Contains(got, "a.site.co.uk") || strings.Count(got, "site.co.uk") != 1 || !strings.Contains(got, "other.co.uk") {
		t.Errorf("got %s; want the queues site.co.uk and other.co.uk", got)
	}
}
