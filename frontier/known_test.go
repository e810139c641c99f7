package frontier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

func TestPutCreatesAndOverwrites(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { testPut(t, open(t, Options{Delay: -1, KeepURLs: keep}), keep) })
	}
}

func testPut(t *testing.T, f *Frontier, keep bool) {
	u, later := URL{URL: "http://a.example/", Meta: []byte("1")}, time.Now().Add(time.Hour)
	put := func(next time.Time) Status {
		results, err := f.Put(bg, []Known{{URL: u, Next: next}})
		must(t, err)
		return results[0].Status
	}
	before := int64(0) // completions of before, of which the store knows nothing
	held := func(want int64) {
		t.Helper()
		if s, err := f.Stats(bg, ""); err != nil || s.Held != want || s.Completed != before+1-want {
			t.Fatalf("got %+v, %v; want %d held, %d completed", s, err, want, before+1-want)
		}
	}
	if got := put(time.Time{}); got != New {
		t.Fatalf("got %v; want an unknown URL created", got)
	}
	held(0)
	if r := addOne(t, f, u); r.Status != Duplicate {
		t.Fatalf("got %v; want completed to mean seen", r.Status)
	}
	for range 2 { // completing twice counts once
		if got := put(time.Time{}); got != Duplicate {
			t.Fatalf("got %v; want it overwritten", got)
		}
		held(0)
	}
	u.Meta = []byte("2")
	put(later)
	if !keep {
		before = 1
	}
	held(1)
	leaseNone(t, f)
	put(time.Now())
	l := leaseOne(t, f)
	if string(l.Meta) != "2" || l.Attempts != 1 {
		t.Errorf("got %+v; want the data of the last Put", l)
	}
	u.Meta = nil
	put(time.Now()) // ends the lease
	if err := f.Done(bg, l); !errors.Is(err, ErrStale) {
		t.Errorf("got %v; want ErrStale", err)
	}
	if l = leaseOne(t, f); len(l.Meta) != 0 {
		t.Errorf("got data %q; want none, as put", l.Meta)
	}
	put(time.Time{})
	held(0)
}

func TestPutKeepsTheFirstSpelling(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addOne(t, f, URL{URL: "http://a.example"})
	if _, err := f.Put(bg, []Known{{URL: URL{URL: "HTTP://a.example/"}, Next: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	if l := leaseOne(t, f); l.URL != "http://a.example" {
		t.Errorf("got %s; want the URL as first found", l.URL)
	}
}

func TestPutAcrossCrawlsAndRefusals(t *testing.T) {
	f := open(t, Options{Exact: []string{"raw"}, Traps: Traps{PathDepth: 1}})
	results, err := f.Put(bg, []Known{
		{URL: URL{URL: "http://a.example/#1", Crawl: "raw"}},
		{URL: URL{URL: "::"}},
		{URL: URL{URL: "http://a.example/#2", Crawl: "raw"}},
		{URL: URL{URL: "http://a.example/deep/er", Priority: 3}, Next: time.Now()},
		{URL: URL{URL: "http://a.example/", Crawl: "*"}},
	})
	must(t, err)
	for i, want := range []Status{New, Refused, New, New, Refused} {
		if results[i].Status != want {
			t.Errorf("URL %d: got %v %q; want %v", i, results[i].Status, results[i].Reason, want)
		}
	}
	if _, err := f.Lookup(bg, URL{URL: "http://a.example/#3", Crawl: "raw"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
}

func TestPutTakesPriorityAndQueue(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			s, err := b.open()
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			f := open(t, Options{Store: s, Delay: -1})
			u := URL{URL: "http://a.example/", Priority: 5, Queue: "mine", Depth: 2}
			for i, want := range []Status{New, Duplicate} {
				results, err := f.Put(bg, []Known{{URL: u, Next: time.Unix(1, 0)}})
				if err != nil || results[0].Status != want {
					t.Fatalf("got %+v, %v; want %v", results, err, want)
				}
				e, err := f.Lookup(bg, u)
				if err != nil || e.Priority != 5 || e.Queue != "mine" || e.Depth != 2 || e.State != store.Queued {
					t.Errorf("put %d: got %+v, %v; want it as put", i, e, err)
				}
			}
		})
	}
}
