package frontier

import (
	"errors"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// TestSetProfile switches rules in the middle of a crawl: URLs are compared by
// the new ones from then on, and other profiles are refused.
func TestSetProfile(t *testing.T) {
	f, err := Open(Options{})
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
	add("http://a.com/?ref=1", New)
	add("http://a.com/?ref=2", New)
	p, err := canon.Qiita().With(canon.WithRuleFile(strings.NewReader(`{"params":[{"host":"a.com","drop":["ref"]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetProfile(p); err != nil {
		t.Fatal(err)
	}
	add("http://a.com/?ref=3", New) // by the form without ref, which is new
	add("http://a.com/?ref=4", Duplicate)
	add("http://b.com/?ref=3", New)
	add("http://b.com/?ref=4", New)
	if err := f.SetProfile(canon.WHATWG()); !errors.Is(err, store.ErrIdentity) || f.Profile() != p {
		t.Errorf("got %v, profile %s; want ErrIdentity and no change", err, f.Profile())
	}
}
