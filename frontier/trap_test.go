package frontier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

func TestTrapLimits(t *testing.T) {
	off := Traps{URLLength: -1, PathDepth: -1, Repeats: -1, Queries: -1}
	const base = "http://h.example"
	tests := []struct {
		traps Traps
		url   string
		want  Reason
	}{
		{Traps{}, base + "/" + strings.Repeat("x", 2048-len(base)-1), ""},
		{Traps{}, base + "/" + strings.Repeat("x", 2048-len(base)), ReasonTooLong},
		{Traps{URLLength: -1}, base + "/" + strings.Repeat("x", 9000), ""},
		{Traps{PathDepth: 3}, base + "/a/b/c", ""},
		{Traps{PathDepth: 3}, base + "/a/b/c/", ""},
		{Traps{PathDepth: 3}, base + "/a/b/c/d", ReasonPathDepth},
		{Traps{PathDepth: 3}, base + "/?q=/a/b/c/d", ""},
		{Traps{Repeats: 2}, base + "/a/b/a/", ""},
		{Traps{Repeats: 2}, base + "/a/b/a/a", ReasonRepeats},
		{Traps{Repeats: 2}, base + "/a?q=/a/a/a", ""},
		{Traps{Repeats: 2}, base + "/?a=1&a=1&a=2&b=1", ""},
		{Traps{Repeats: 2}, base + "/?a=1&b=1&a=1&a=2&a=1", ReasonRepeats},
		{Traps{}, base + "/?a=1&a=1&a=1&a=1#?a=1&a=1", ""},
		{Traps{}, base + "/?" + strings.Repeat("rating=4&", 5), ReasonRepeats},
		{Traps{PathDepth: -1}, base + strings.Repeat("/x/y", 60), ReasonRepeats},
		{Traps{PathDepth: -1}, base + "/" + numbered(100), ""},
		{off, base + strings.Repeat("/x", 3000), ""},
		{Traps{Off: true}, base + strings.Repeat("/x", 3000), ""},
		{Traps{PathDepth: 1}, base, ""},
	}
	for _, tt := range tests {
		f := open(t, Options{Traps: tt.traps})
		if r := addOne(t, f, Link{URL: tt.url}); r.Reason != tt.want {
			t.Errorf("%.60s under %+v: got %q; want %q", tt.url, tt.traps, r.Reason, tt.want)
		}
	}
}

func TestSkipTraps(t *testing.T) {
	f := open(t, Options{Traps: Traps{Queries: 2}, MaxDepth: 3})
	long := "http://h.example" + strings.Repeat("/x", 3000)
	if r := addOne(t, f, Link{URL: long, SkipTraps: true}); r.Status != StatusNew {
		t.Errorf("got %v, %q; want a long URL taken where traps are skipped", r.Status, r.Reason)
	}
	for i := range 9 {
		if r := addOne(t, f, Link{URL: fmt.Sprintf("http://h.example/?q=%d", i), SkipTraps: true}); r.Status != StatusNew {
			t.Errorf("query %d: got %v, %q; want it taken", i, r.Status, r.Reason)
		}
	}
	for i, want := range []Reason{"", "", ReasonQueries} { // those that skip them aren't counted
		if r := addOne(t, f, Link{URL: fmt.Sprintf("http://h.example/?r=%d", i)}); r.Reason != want {
			t.Errorf("counted query %d: got %q; want %q", i, r.Reason, want)
		}
	}
	if r := addOne(t, f, Link{URL: "http://h.example/deep", Depth: 4, SkipTraps: true}); r.Reason != ReasonDepth {
		t.Errorf("got %q; want the depth refused all the same", r.Reason)
	}
}

// TestSkippedAfterCounted: what a call left in its workspace does not reach the next one.
func TestSkippedAfterCounted(t *testing.T) {
	f := open(t, Options{Traps: Traps{Queries: 2}})
	addOne(t, f, Link{URL: "http://h.example/?q=1"})
	for i := range 9 {
		addOne(t, f, Link{URL: fmt.Sprintf("http://h.example/?s=%d", i), SkipTraps: true})
	}
	if r := addOne(t, f, Link{URL: "http://h.example/?q=2"}); r.Status != StatusNew {
		t.Errorf("got %v, %q; want new: nothing else was counted", r.Status, r.Reason)
	}
}

func numbered(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprint(i))
	}
	return strings.Join(parts, "/")
}

func TestQueryTrapCountsDistinctNewQueries(t *testing.T) {
	f := open(t, Options{Traps: Traps{Queries: 3}})
	reason := func(u string) Reason { return addOne(t, f, Link{URL: u}).Reason }
	for i := range 3 {
		for range 5 { // duplicates don't count
			if got := reason(fmt.Sprintf("http://h.example/cal?day=%d", i)); got != "" {
				t.Fatalf("day %d: got %q; want it taken", i, got)
			}
		}
	}
	if got := reason("http://h.example/cal?day=4"); got != ReasonQueries {
		t.Errorf("got %q; want %q", got, ReasonQueries)
	}
	if r := addOne(t, f, Link{URL: "http://h.example/cal?day=1"}); r.Status != StatusDuplicate {
		t.Errorf("got %v; want a known URL to stay a duplicate", r.Status)
	}
	for _, u := range []string{"http://h.example/cal", "http://h.example/other?day=4", "http://g.example/cal?day=4"} {
		if got := reason(u); got != "" {
			t.Errorf("%s: got %q; want it taken", u, got)
		}
	}
	if r := addOne(t, f, Link{URL: "http://h.example/cal?day=4", Crawl: "other"}); r.Status != StatusNew {
		t.Errorf("got %v; want crawls counted apart", r.Status)
	}
}

func TestQueryTrapWithinOneBatch(t *testing.T) {
	f := open(t, Options{Traps: Traps{Queries: 10}})
	var urls []Link
	for i := range 40 {
		urls = append(urls, Link{URL: fmt.Sprintf("http://h.example/?q=%d", i/2)})
	}
	count := map[Status]int{}
	for _, r := range addAll(t, f, urls...) {
		count[r.Status]++
	}
	if want := map[Status]int{StatusNew: 10, StatusDuplicate: 10, StatusRefused: 20}; !maps.Equal(count, want) {
		t.Errorf("got %v; want %v: repeats take no place", count, want)
	}
	for i, r := range addAll(t, f, urls[:20]...) {
		if r.Status != StatusDuplicate {
			t.Errorf("URL %d again: got %v; want duplicate", i, r.Status)
		}
	}
	if r := addOne(t, f, urls[39]); r.Reason != ReasonQueries {
		t.Errorf("got %v; want the path full still", r.Status)
	}
}

// TestQueryTrapOfManyBatchesAtOnce: those that are added at once get as many places as there are.
func TestQueryTrapOfManyBatchesAtOnce(t *testing.T) {
	const limit, adders, each = 100, 8, 40
	f := open(t, Options{Traps: Traps{Queries: limit}})
	var added atomic.Int64
	var wg sync.WaitGroup
	for k := range adders {
		var urls []Link
		for i := range each {
			urls = append(urls, Link{URL: fmt.Sprintf("http://h.example/?q=%d", k*each+i)}, Link{URL: fmt.Sprintf("http://h.example/%d?q", k*each+i)})
		}
		wg.Go(func() {
			results, err := f.AddBatch(bg, urls)
			if err != nil {
				t.Error(err)
			}
			for _, r := range results {
				if r.Status == StatusNew {
					added.Add(1)
				} else if r.Reason != ReasonQueries {
					t.Errorf("got %v; want new or %s", r.Status, ReasonQueries)
				}
			}
		})
	}
	wg.Wait()
	if got, want := added.Load(), int64(limit+adders*each); got != want {
		t.Errorf("got %d added; want %d: the limit of one path, and one of each other", got, want)
	}
}

func TestQueryTrapMemoryIsBoundedAndHeavyPathsStay(t *testing.T) {
	q := newQueryTrap(Traps{Queries: 1000})
	c := &crawl{stored: "c"}
	heavy := q.pathOf(c, "http://h.example/heavy?")
	for i := range 1000 {
		if !q.take(heavy) {
			t.Fatalf("refused at %d; want 1000 taken", i)
		}
		for j := range 500 { // half a million paths seen once
			q.take(q.pathOf(c, fmt.Sprintf("http://h.example/%d/%d?", i, j)))
		}
	}
	if q.take(heavy) {
		t.Error("got a heavy path forgotten under churn; want it refused")
	}
	if len(q.sets) != querySets {
		t.Errorf("got %d sets; want %d", len(q.sets), querySets)
	}
}

func TestForgetResetsQueryTrap(t *testing.T) {
	f := open(t, Options{Traps: Traps{Queries: 1}})
	a, b := Link{URL: "http://h.example/?q=1"}, Link{URL: "http://h.example/?q=2"}
	addOne(t, f, a)
	if r := addOne(t, f, b); r.Reason != ReasonQueries {
		t.Fatalf("got %q; want %q", r.Reason, ReasonQueries)
	}
	if _, err := f.Forget(bg, Selection{URLs: []Link{a}}); err != nil {
		t.Fatal(err)
	}
	if r := addOne(t, f, b); r.Status != StatusNew {
		t.Errorf("got %v %q; want new", r.Status, r.Reason)
	}
}

// blind is a store that fails to look something up, once.
type blind struct {
	store.Store
	failed atomic.Bool
}

func (s *blind) Lookup(ctx context.Context, crawl string, keys []store.Key) ([]store.Entry, error) {
	if s.failed.CompareAndSwap(false, true) {
		return nil, store.ErrUnavailable
	}
	return s.Store.Lookup(ctx, crawl, keys)
}

// TestQueryTrapAfterAFailure: a batch that fails holds no places, whatever their path.
func TestQueryTrapAfterAFailure(t *testing.T) {
	f := openOn(t, &blind{Store: memstore.New(memstore.Options{})}, Options{Traps: Traps{Queries: 2}})
	batch := func(paths ...string) (urls []Link) {
		for i, path := range paths {
			urls = append(urls, Link{URL: fmt.Sprintf("http://h.example/%s?q=%d", path, i)})
		}
		return urls
	}
	if _, err := f.AddBatch(bg, batch("a", "a", "b", "b", "b")); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v; want the error of the look-up in the full path", err)
	}
	for i, r := range addAll(t, f, batch("a", "a", "b", "b")...) {
		if r.Status != StatusNew {
			t.Errorf("URL %d: got %v %s; want new", i, r.Status, r.Reason)
		}
	}
}
