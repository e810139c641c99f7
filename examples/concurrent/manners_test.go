package main

import (
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
)

func TestClosest(t *testing.T) {
	var m manners
	start := time.Now()
	for _, c := range []struct {
		queue string
		at    time.Duration
	}{{"a", 100}, {"b", 110}, {"a", 40}, {"a", 0}} {
		m.note(&frontier.Lease{Queue: c.queue, Expires: start.Add(c.at)})
	}
	if got := m.closest(); got != 40 {
		t.Errorf("got %v; want 40ns: between two of one host, in any order", got)
	}
}
