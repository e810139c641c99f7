package frontier

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestFrontiersAgreeOnACrawlsProfile sets the profile of a crawl on one of two frontiers that are
// open on a store, and uses it on the other.
func TestFrontiersAgreeOnACrawlsProfile(t *testing.T) {
	s := memstore.New(memstore.Options{})
	a, b := openOn(t, s, Options{Delay: -1}), openOn(t, s, Options{Delay: -1})
	link := Link{URL: "http://a.example/?b=1&a=2", Crawl: "news"} // whose forms by qiita and whatwg differ
	if _, err := b.Lookup(bg, link); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	if err := a.SetCrawlProfile(bg, "news", profileNamed(t, "whatwg")); err != nil {
		t.Fatal(err)
	}
	if r := addAll(t, a, link)[0]; r.Status != StatusNew {
		t.Errorf("got %v; want new", r.Status)
	}
	if e, err := b.Lookup(bg, link); err != nil || e.Canonical != link.URL {
		t.Errorf("got %q, %v; want it found by its form in whatwg", e.Canonical, err)
	}
	if r := addAll(t, b, link)[0]; r.Status != StatusDuplicate {
		t.Errorf("got %v; want what the other frontier made known to be a duplicate", r.Status)
	}
	if leases, _, err := b.Lease(bg, LeaseRequest{Max: 5, Crawl: "news"}); err != nil || len(leases) != 1 {
		t.Errorf("got %d leases, %v; want the one of both", len(leases), err)
	}
	if err := b.SetCrawlProfile(bg, "news", profileNamed(t, "surt")); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want another profile refused", err)
	}
}

// TestEveryCallLearnsACrawlsProfile makes each call the first with which a frontier meets a
// crawl that another frontier gave a profile.
func TestEveryCallLearnsACrawlsProfile(t *testing.T) {
	s := memstore.New(memstore.Options{})
	a := openOn(t, s, Options{Delay: -1})
	link := func(crawl string) Link { return Link{URL: "http://a.example/?b=1&a=2", Crawl: crawl} }
	duplicate := func(r []Result) error {
		if len(r) != 1 || r[0].Status != StatusDuplicate {
			return fmt.Errorf("got %v; want duplicate", r)
		}
		return nil
	}
	held := func(f *Frontier, crawl string) error {
		stats, err := f.Stats(bg, crawl)
		if err == nil && stats.Seen != 1 {
			err = fmt.Errorf("got %d URLs seen; want 1", stats.Seen)
		}
		return err
	}
	for what, call := range map[string]func(f *Frontier, crawl string) error{
		"Stats": held,
		"See": func(f *Frontier, crawl string) error {
			r, err := f.See(bg, []Link{link(crawl)})
			return errors.Join(err, duplicate(r))
		},
		"Put": func(f *Frontier, crawl string) error {
			r, err := f.Put(bg, []Known{{Link: link(crawl), Next: time.Now()}})
			return errors.Join(err, duplicate(r))
		},
		"Lease": func(f *Frontier, crawl string) error {
			leases, _, err := f.Lease(bg, LeaseRequest{Max: 1, Crawl: crawl})
			if err == nil && len(leases) != 1 {
				err = errors.New("got no lease")
			}
			return err
		},
		"Forget": func(f *Frontier, crawl string) error {
			n, err := f.Forget(bg, Selection{Crawl: crawl, URLs: []Link{link("")}})
			if err == nil && n != 1 {
				err = fmt.Errorf("forgot %d; want 1", n)
			}
			return err
		},
		"SetCrawlProfile": func(f *Frontier, crawl string) error {
			if err := f.SetCrawlProfile(bg, crawl, canon.Qiita()); !errors.Is(err, store.ErrIdentity) {
				return fmt.Errorf("got %v; want the frontier's own profile refused", err)
			}
			return nil
		},
	} {
		b := openOn(t, s, Options{Delay: -1})
		if err := a.SetCrawlProfile(bg, what, profileNamed(t, "whatwg")); err != nil {
			t.Fatal(err)
		}
		addAll(t, a, link(what))
		if err := call(b, what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestProfileAgainstFirstURL sets a profile on one frontier while another adds the first
// URL: one of them is first, and both go by it.
func TestProfileAgainstFirstURL(t *testing.T) {
	s := memstore.New(memstore.Options{})
	a, b := openOn(t, s, Options{Delay: -1}), openOn(t, s, Options{Delay: -1})
	for i := range 200 {
		link := Link{URL: "http://a.example/?b=1&a=2", Crawl: fmt.Sprint(i)}
		var set error
		var wg sync.WaitGroup
		wg.Go(func() { set = a.SetCrawlProfile(bg, link.Crawl, profileNamed(t, "whatwg")) })
		first := addAll(t, b, link)[0]
		wg.Wait()
		if set != nil && !errors.Is(set, store.ErrIdentity) {
			t.Fatal(set)
		}
		want := link.URL
		if set != nil {
			want = "http://a.example/?a=2&b=1"
		}
		then := addAll(t, a, link)[0]
		if first.Status != StatusNew || then.Status != StatusDuplicate || first.Canonical != want || then.Canonical != want {
			t.Fatalf("profile set: %v; got %v %q, then %v %q; want new, then duplicate, of %q", set, first.Status, first.Canonical, then.Status, then.Canonical, want)
		}
	}
}
