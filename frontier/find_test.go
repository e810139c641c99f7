package frontier

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// TestFindAndChange selects URLs by each criterion, and requeues, drops and forgets what was selected: nothing else changes.
func TestFindAndChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Crawl: "*", Delay: -1, MaxInFlight: -1, Attempts: 1})
		began := time.Now()
		for i, path := range []string{"leased", "done", "failed/1", "failed/2", "queued"} {
			addOne(t, f, Link{URL: "http://a.example/" + path, Crawl: "news", Priority: uint8(7 - i)})
		}
		for range 4 {
			leases, _, err := f.Lease(bg, LeaseRequest{Crawl: "news"})
			must(t, err)
			switch l := leases[0]; {
			case strings.HasSuffix(l.URL, "done"):
				must(t, f.Done(bg, l))
			case strings.Contains(l.URL, "failed"):
				_, err := f.Retry(bg, l, time.Time{})
				must(t, err)
			}
		}
		time.Sleep(time.Hour)
		addAll(t, f, Link{URL: "http://b.example/later", Crawl: "news", Due: time.Now().Add(time.Hour)}, Link{URL: "http://B.example/other", Crawl: "shop"})
		rules := func(rules ...string) *canon.URLSet {
			s, err := canon.ParseURLSet([]byte(strings.Join(rules, "\n")))
			must(t, err)
			return s
		}
		find := func(q Query) string {
			t.Helper()
			var found []string
			for e, err := range f.Find(bg, q) {
				must(t, err)
				found = append(found, fmt.Sprintf("%s %s", e.StateAt(time.Now()), e.URL[strings.LastIndexByte(e.URL, '/')+1:]))
			}
			slices.Sort(found)
			return strings.Join(found, ", ")
		}
		for _, c := range []struct {
			what string
			q    Query
			want string
		}{
			{"all of a crawl", Query{Crawl: "news"}, "done done, dropped 1, dropped 2, leased leased, queued queued, scheduled later"},
			{"of all crawls", Query{Crawl: "*", Queue: "", URLs: rules("b.example")}, "queued other, scheduled later"},
			{"a queue", Query{Crawl: "news", Queue: "b.example"}, "scheduled later"},
			{"states", Query{Crawl: "news", States: []QueryState{StateDone, StateLeased}}, "done done, leased leased"},
			{"a pattern", Query{Crawl: "news", URLs: rules("*/failed/*2$")}, "dropped 2"},
			{"found before", Query{Crawl: "*", Before: began.Add(time.Minute), States: []QueryState{StateQueued, StateScheduled}}, "queued queued"},
			{"found after", Query{Crawl: "*", After: began.Add(time.Minute)}, "queued other, scheduled later"},
			{"a reason", Query{Crawl: "news", Reasons: []Reason{ReasonAttempts}, URLs: rules("*/failed/")}, "dropped 1, dropped 2"},
			{"of operators", Query{Crawl: "news", Reasons: []Reason{ReasonOperator}}, ""},
			{"another reason", Query{Crawl: "news", Reasons: []Reason{ReasonExpired}}, ""},
			{"nothing", Query{Crawl: "none"}, ""},
		} {
			if got := find(c.q); got != c.want {
				t.Errorf("%s: got %s; want %s", c.what, got, c.want)
			}
		}
		change := func(do Action, q Query, want int64, after string) {
			t.Helper()
			if n, _, err := f.Change(bg, q, do); err != nil || n != want {
				t.Errorf("%s: got %d, %v; want %d", do, n, err, want)
			}
			if got := find(Query{Crawl: "news"}); got != after {
				t.Errorf("after %s: got %s; want %s", do, got, after)
			}
		}
		change(ActionRequeue, Query{Crawl: "news", States: []QueryState{StateDropped}}, 2, "done done, leased leased, queued 1, queued 2, queued queued, scheduled later")
		change(ActionDrop, Query{Crawl: "news", URLs: rules("*/failed/1")}, 1, "done done, dropped 1, leased leased, queued 2, queued queued, scheduled later")
		change(ActionRequeue, Query{Crawl: "news", Queue: "b.example"}, 1, "done done, dropped 1, leased leased, queued 2, queued later, queued queued")
		change(ActionFree, Query{Crawl: "news"}, 1, "done done, dropped 1, queued 2, queued later, queued leased, queued queued")
		leases, _, err := f.Lease(bg, LeaseRequest{Crawl: "news", Queue: "a.example"})
		must(t, err)
		if l := leases[0]; !strings.HasSuffix(l.URL, "/leased") || l.Releases != 1 || l.Expiries != 0 {
			t.Errorf("got %+v; want the URL that was freed, with a release", l)
		}
		change(ActionForget, Query{Crawl: "news", States: []QueryState{StateDone, StateLeased}}, 2, "dropped 1, queued 2, queued later, queued queued")
		change(ActionDrop, Query{Crawl: "news"}, 3, "dropped 1, dropped 2, dropped later, dropped queued")
		if got := find(Query{Crawl: "news", Reasons: []Reason{ReasonOperator}}); got != "dropped 1, dropped 2, dropped later, dropped queued" {
			t.Errorf("got %s; want the reason of those", got)
		}
		if r := addOne(t, f, Link{URL: "http://a.example/done", Crawl: "news"}); r.Status != StatusNew {
			t.Errorf("got %v; want what was forgotten new", r.Status)
		}
		for _, q := range []Query{{States: []QueryState{"lost"}}, {Crawl: "*", Queue: "a"}} {
			if _, _, err := f.Change(bg, q, ActionDrop); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%+v: got %v; want it refused", q, err)
			}
		}
		if _, _, err := f.Change(bg, Query{}, "burn"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("got %v; want no such action", err)
		}
	})
}

// TestChangeSparesNewLeases: a URL that is leased between the steps that find it and change it keeps that lease.
func TestChangeSparesNewLeases(t *testing.T) {
	for _, do := range []Action{ActionRequeue, ActionFree, ActionDrop} {
		t.Run(string(do), func(t *testing.T) {
			f := openKeep(t, true, Options{Delay: -1})
			addOne(t, f, Link{URL: "http://a.example/"})
			lease := func() *Lease {
				leases, _, err := f.Lease(bg, LeaseRequest{})
				must(t, err)
				return leases[0]
			}
			if do == ActionFree {
				lease()
			}
			batch := changes{f: f, do: do}
			for e, err := range f.Find(bg, Query{}) {
				must(t, err)
				batch.crawl = e.Crawl
				batch.urls = append(batch.urls, e)
			}
			if do == ActionFree {
				_, _, err := f.Change(bg, Query{}, ActionFree)
				must(t, err)
			}
			l := lease()
			must(t, batch.apply(bg))
			if batch.n != 0 {
				t.Errorf("got %d URLs changed; want the one that was leased since left alone", batch.n)
			}
			must(t, f.Done(bg, l))
		})
	}
}

// TestFindSaysWhatIsNotKept asks a store that keeps no texts for done URLs.
func TestFindSaysWhatIsNotKept(t *testing.T) {
	f := open(t, Options{Delay: -1})
	ends := func() (err error) {
		for _, err = range f.Find(bg, Query{States: []QueryState{StateDone, StateDropped}}) {
		}
		return err
	}
	must(t, ends())
	addOne(t, f, Link{URL: "http://a.example/"})
	must(t, ends())
	must(t, f.Done(bg, leaseOne(t, f)))
	if err := ends(); !errors.Is(err, store.ErrNoTexts) {
		t.Errorf("got %v; want ErrNoTexts", err)
	}
	addAll(t, f, Link{URL: "http://a.example/held"}, Link{URL: "http://b.example/", Due: time.Now().Add(time.Hour)})
	for _, c := range []struct {
		q      Query
		do     Action
		n      int64
		silent bool
	}{
		{do: ActionRequeue, n: 1}, // the scheduled one
		{q: Query{States: []QueryState{StateDone, StateQueued}}, do: ActionRequeue},
		{q: Query{Reasons: []Reason{ReasonAttempts}}, do: ActionRequeue},
		{q: Query{States: []QueryState{StateScheduled}}, do: ActionRequeue, silent: true},
		{do: ActionFree, silent: true},
		{q: Query{States: []QueryState{StateQueued}}, do: ActionDrop, n: 2, silent: true},
		{do: ActionForget},
	} {
		if n, _, err := f.Change(bg, c.q, c.do); n != c.n || errors.Is(err, store.ErrNoTexts) == c.silent || c.silent && err != nil || !c.silent && n > 0 && !strings.Contains(err.Error(), "changed before: 1") {
			t.Errorf("%s %+v: got %d, %v; want %d, and an error unless %v", c.do, c.q, n, err, c.n, c.silent)
		}
	}
}

// TestRequeueKeepsRounds: what is scheduled is due now in its round, and what is excluded stays as it is.
func TestRequeueKeepsRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Delay: -1, Attempts: 3})
		addAll(t, f, Link{URL: "http://a.example/"}, Link{URL: "http://b.example/"})
		var late *Lease
		for range 2 {
			if l := leaseOne(t, f); l.Queue == "a.example" {
				late = l
			} else {
				must(t, f.Done(bg, l))
			}
		}
		_, err := f.Retry(bg, late, time.Now().Add(time.Hour))
		must(t, err)
		_, err = f.Exclude(bg, "*", "b.example")
		must(t, err)
		if n, _, err := f.Change(bg, Query{}, ActionRequeue); err != nil || n != 1 {
			t.Errorf("got %d, %v requeued; want the scheduled one alone", n, err)
		}
		if l := nextOf(t, f, "http://a.example/"); l.Failures != 1 {
			t.Errorf("got %+v; want its failure counted still", l)
		}
		must(t, f.Done(bg, late))
		if r := addOne(t, f, Link{URL: "http://b.example/"}); r.Reason != ReasonExcluded {
			t.Errorf("got %+v; want it excluded", r)
		}
		_, err = f.Include(bg, "*", "b.example")
		must(t, err)
		if r := addOne(t, f, Link{URL: "http://b.example/"}); r.Status != StatusDuplicate {
			t.Errorf("got %+v; want the page known still", r)
		}
	})
}

// TestFindAfterAges: what is forgotten by age leaves a store that keeps texts with nothing to find, and that is no error.
func TestFindAfterAges(t *testing.T) {
	f := openKeep(t, true, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example/"})
	must(t, f.Done(bg, leaseOne(t, f)))
	addOne(t, f, Link{URL: "http://b.example/"})
	must(t, f.Drop(bg, leaseOne(t, f)))
	if n, err := f.Forget(bg, Selection{Before: time.Now().Add(time.Hour)}); err != nil || n != 2 {
		t.Fatalf("got %d, %v; want two forgotten", n, err)
	}
	check := func() {
		t.Helper()
		for _, q := range []Query{{States: []QueryState{StateDone}}, {Queue: "a.example", States: []QueryState{StateDone}}} {
			for e, err := range f.Find(bg, q) {
				t.Errorf("got %v, %v; want nothing found", e, err)
			}
		}
	}
	check()
	addOne(t, f, Link{URL: "http://b.example/"})
	must(t, f.Drop(bg, leaseOne(t, f)))
	check()
}
