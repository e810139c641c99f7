package frontier

import (
	"errors"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestSetProfile switches rules in the middle of a crawl: URLs are compared by
// the new ones from then on, and other profiles are refused.
func TestSetProfile(t *testing.T) {
	f, err := New(memstore.New(memstore.Options{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	add := func(url string, want Status) {
		t.Helper()
		if r, err := f.Add(t.Context(), url); err != nil || r.Status != want {
			t.Errorf("%s: got %v, %v; want %v", url, r.Status, err, want)
		}
	}
	add("http://a.com/?ref=1", StatusNew)
	add("http://a.com/?ref=2", StatusNew)
	p, err := canon.Qiita().With(canon.WithRuleFile(strings.NewReader(`{"params":[{"host":"a.com","drop":["ref"]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetProfile(p); err != nil {
		t.Fatal(err)
	}
	add("http://a.com/?ref=3", StatusNew) // by the form without ref, which is new
	add("http://a.com/?ref=4", StatusDuplicate)
	add("http://b.com/?ref=3", StatusNew)
	add("http://b.com/?ref=4", StatusNew)
	if err := f.SetProfile(canon.WHATWG()); !errors.Is(err, store.ErrIdentity) || f.Profile("*") != p {
		t.Errorf("got %v, profile %s; want ErrIdentity and no change", err, f.Profile("*"))
	}
}

// TestListsStay opens a store of version 1 of the lists with profiles as they are typed, which have the
// newest: the store, the profiles that replace one, and a crawl with rules of its own keep version 1.
func TestListsStay(t *testing.T) {
	const url, old = "http://a.com/index.php5", "qiita:+strip-index"
	p, err := canon.ParseRecorded(old)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := canon.ParseProfile(old)
	if err != nil || typed.String() == p.String() {
		t.Fatalf("got %s for both, %v; want two versions of the lists", typed, err)
	}
	s := memstore.New(memstore.Options{})
	for _, p := range []*canon.Profile{p, typed} {
		f, err := New(s, Options{Profile: p})
		if err == nil {
			err = f.SetCrawlProfile(t.Context(), "own", p)
		}
		file, errFile := p.With(canon.WithRuleFile(strings.NewReader(`{"sites":[{"host":"b.com","rules":["+strip-www"]}]}`)))
		if err = errors.Join(err, errFile); err == nil {
			err = f.SetProfile(file)
		}
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		for _, crawl := range []string{"*", "own"} {
			if form, err := f.Profile(crawl).Canonicalize(url); form != url {
				t.Errorf("%s, crawl %s: got %s, %v; want it unchanged", p, crawl, form, err)
			}
		}
		f.Close()
	}
	chosen, err := canon.ParseProfile(old + ",lists=2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(s, Options{Profile: chosen}); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v for lists that were chosen; want ErrIdentity", err)
	}
	s = memstore.New(memstore.Options{})
	long, err := canon.ParseProfile("qiita:+strip-tracking-params,+strip-session-ids")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is read from the store
		f, err := New(s, Options{Profile: typed})
		if err == nil {
			err = f.SetCrawlProfile(t.Context(), "long", long)
		}
		if err != nil || f.Profile("*").String() != typed.String() || f.Profile("long").String() != long.String() {
			t.Fatalf("got %v; want the newest lists in a new store", err)
		}
		f.Close()
	}
}
