package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestMeasuredSkewIsThatOfTheCrawl(t *testing.T) {
	w, err := readHosts(bytes.NewReader(docsHosts), "docs", 1e8)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.head) != 1220 || math.Abs(w.kept()-1e8) > 1 {
		t.Errorf("got %d hosts with %.0f URLs; want 1,220 with 1e8", len(w.head), w.kept())
	}
	if top := w.head[0].kept / w.kept(); math.Abs(top-0.299) > 0.001 {
		t.Errorf("the top host has %.3f of the URLs; want 0.299", top)
	}
}

func TestZipfSumsToWhatWasAsked(t *testing.T) {
	for _, hosts := range []int{1000, 3 << 20, 1e9} {
		w := zipf("", 1e10, hosts, 1.05, 0, 1)
		if got := w.kept(); math.Abs(got/1e10-1) > 1e-6 {
			t.Errorf("%d hosts keep %.0f URLs; want 1e10", hosts, got)
		}
	}
}

// TestPlacements checks that a shard by host is at least as full as its largest host, that shards
// by key are near the mean, and that the loads of shards and nodes add up.
func TestPlacements(t *testing.T) {
	w := zipf("", 1e9, 1e6, 1.05, 0, 10)
	f := fleet{1024, 12}
	top := w.head[0].kept / w.kept() * 1024
	for _, c := range []struct {
		p        placement
		low, top float64
	}{{byHost, top, top * 1.5}, {spread, 1, 1.5}, {byKey, 1, 1.01}} {
		shards := f.keep(w, c.p, 1)
		if worst := shards.worst(); worst < c.low || worst > c.top {
			t.Errorf("%s: the worst shard is %.2f times the mean; want %.2f to %.2f", c.p, worst, c.low, c.top)
		}
		if sum := total(f.onNodes(shards)); math.Abs(sum/1e9-1) > 1e-3 {
			t.Errorf("%s: nodes hold %.0f; want 1e9", c.p, sum)
		}
	}
	if worst := f.answer(w, 1).worst(); worst < top {
		t.Errorf("the busiest home answers %.1f times the mean; want at least the top host's %.1f", worst, top)
	}
}

func total(l loads) (sum float64) {
	for _, v := range l {
		sum += v
	}
	return sum
}

func TestTableIsTheSameTwice(t *testing.T) {
	var a, b strings.Builder
	if err := run(&a, 1); err != nil {
		t.Fatal(err)
	}
	if err := run(&b, 1); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() || strings.Count(a.String(), "\n") != 10 {
		t.Errorf("two runs differ, or don't have 10 lines:\n%s", &a)
	}
}
