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
