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

func TestLookupByAnySpelling(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example:80/?b&a", Meta: []byte("m"), Depth: 4, Discriminator: "HEAD"})
	e, err := f.Lookup(bg, Link{URL: "HTTP://A.EXAMPLE/?a=&b=#x", Discriminator: "HEAD"})
	if err != nil || e.State != store.Queued || e.URL != "http://a.example:80/?b&a" || e.Depth != 4 || string(e.Meta) != "m" || e.Canonical != "http://a.example/?a=&b=" {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := f.Lookup(bg, Link{URL: "http://a.example/?a&b"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v without the discriminator; want ErrNotFound", err)
	}
	if _, err := f.Lookup(bg, Link{URL: "mailto:x"}); !errors.Is(err, canon.ErrScheme) {
		t.Errorf("got %v; want canon.ErrScheme", err)
	}
	if _, err := f.Lookup(bg, Link{URL: "http://a.example/", Crawl: "*"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v; want ErrInvalid", err)
	}
}

func TestListings(t *testing.T) {
	f := exact(t, openKeep(t, true, Options{Delay: -1}), "x")
	for i := range 3 {
		addAll(t, f, Link{URL: fmt.Sprintf("http://h%d.example/", i)}, Link{URL: fmt.Sprintf("http://h%d.example/", i), Crawl: "x"})
	}
	must(t, f.Done(bg, leaseOne(t, f)))
	var queues, entries []string
	for q, err := range f.Queues(bg, "*", "") {
		must(t, err)
		queues = append(queues, q.Crawl+" "+q.Name)
	}
	if want := []string{"DEFAULT h0.example", "DEFAULT h1.example", "DEFAULT h2.example", "x h0.example", "x h1.example", "x h2.example"}; !slices.Equal(queues, want) {
		t.Errorf("got queues %q; want %q", queues, want)
	}
	for e, err := range f.Entries(bg, "x", "h1.example") {
		must(t, err)
		entries = append(entries, e.Crawl+" "+e.URL)
	}
	if want := []string{"x http://h1.example/"}; !slices.Equal(entries, want) {
		t.Errorf("got entries %q; want %q", entries, want)
	}
	stats, err := f.Stats(bg, "*")
	if err != nil || stats.Seen != 6 || stats.Held != 5 || stats.Completed != 1 {
		t.Errorf("got %+v, %v; want 6 seen, 5 held, 1 completed", stats, err)
	}
	for range f.Queues(bg, "", "") {
		break // an iterator may be left
	}
}

func TestBlockAndPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxInFlight: -1})
		// Settings may come before the first URL: a delay from robots.txt does.
		must(t, block(f, "", "a.example", time.Now().Add(time.Hour)))
		for i := range 5 {
			addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
		}
		leaseNone(t, f)
		must(t, block(f, "", "a.example", time.Time{}))
		leaseOne(t, f)
		for _, scope := range [][2]string{{"", "a.example"}, {"", ""}, {"*", ""}} {
			must(t, pause(f, scope[0], scope[1], true))
			leaseNone(t, f)
			time.AfterFunc(time.Minute, func() { must(t, pause(f, scope[0], scope[1], false)) })
			start := time.Now()
			if _, err := f.Next(bg); err != nil || time.Since(start) != time.Minute {
				t.Errorf("%q: got %v after %v; want one when the pause ended", scope, err, time.Since(start))
			}
		}
	})
}

func TestForget(t *testing.T) {
	f := open(t, Options{Delay: -1})
	u := func(s string) Link { return Link{URL: "http://" + s} }
	addAll(t, f, u("a.example/1"), u("a.example/2"), u("b.example/"), Link{URL: "http://c.example/", Crawl: "c"})
	forget := func(sel Selection, want int64) {
		t.Helper()
		if n, err := f.Forget(bg, sel); err != nil || n != want {
			t.Errorf("%+v: got %d, %v; want %d", sel, n, err, want)
		}
	}
	forget(Selection{URLs: []Link{}}, 0)
	forget(Selection{URLs: []Link{u("A.example/1#x")}}, 1)
	if r := addOne(t, f, u("a.example/1")); r.Status != StatusNew {
		t.Errorf("got %v; want a forgotten URL new again", r.Status)
	}
	forget(Selection{Queue: "a.example"}, 2)
	forget(Selection{}, 1)
	forget(Selection{Crawl: "*"}, 1)
	if _, err := f.Forget(bg, Selection{URLs: []Link{u("")}}); err == nil {
		t.Error("got no error for a URL without a key")
	}
}

// TestErrorsSayItOnce holds that a store and a frontier don't both begin an error.
func TestErrorsSayItOnce(t *testing.T) {
	f := open(t, Options{})
	addOne(t, f, Link{URL: "http://a.example/"})
	negative := int64(-1)
	forget := func(sel Selection) error { _, err := f.Forget(bg, sel); return err }
	lease := func(r LeaseRequest) error { _, _, err := f.Lease(bg, r); return err }
	for name, err := range map[string]error{
		"unknown queue":       f.Configure(bg, "", "b.example", store.QueueChange{MustExist: true}),
		"bound of a queue":    f.Configure(bg, "", "a.example", store.QueueChange{Limit: &negative}),
		"queue of all crawls": f.Configure(bg, "*", "a.example", store.QueueChange{}),
		"two selections":      forget(Selection{Queue: "a.example", Before: time.Now()}),
		"queue and keys":      forget(Selection{Queue: "a.example", Keys: []store.Key{{}}}),
		"queue of any crawl":  lease(LeaseRequest{Max: 1, Crawl: "*", Queue: "a.example"}),
	} {
		if err == nil || strings.Count(err.Error(), "cannot ") != 1 {
			t.Errorf("%s: got %v; want an error that says once what failed", name, err)
		}
	}
}

func TestSeenForMakesOldURLsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, SeenFor: 8 * time.Hour})
		done, held := Link{URL: "http://a.example/done"}, Link{URL: "http://b.example/held"}
		addOne(t, f, done)
		must(t, f.Done(bg, leaseOne(t, f)))
		addOne(t, f, held)
		time.Sleep(7 * time.Hour)
		if r := addOne(t, f, done); r.Status != StatusDuplicate {
			t.Errorf("got %v after 7h; want duplicate", r.Status)
		}
		time.Sleep(2*time.Hour + time.Minute)
		if r := addOne(t, f, done); r.Status != StatusNew {
			t.Errorf("got %v after 9h; want new", r.Status)
		}
		if r := addOne(t, f, held); r.Status != StatusDuplicate {
			t.Errorf("got %v; want what is held never forgotten", r.Status)
		}
	})
}
