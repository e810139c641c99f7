package frontier

import (
	"slices"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store/captures"
)

// openSample opens a sample; read closes it and returns its captures.
func openSample(t *testing.T) (s *captures.Sample, read func() []captures.Capture) {
	t.Helper()
	dir := t.TempDir()
	s, err := captures.Open(dir, captures.Options{})
	must(t, err)
	return s, func() (all []captures.Capture) {
		must(t, s.Close())
		s, err := captures.OpenReadOnly(dir)
		must(t, err)
		for c, err := range s.All() {
			must(t, err)
			all = append(all, c)
		}
		must(t, s.Close())
		return all
	}
}

func TestFetchedIsKept(t *testing.T) {
	sample, read := openSample(t)
	f := open(t, Options{Delay: -1, OnFetched: func(r Fetched) { sample.Offer(r) }})
	addOne(t, f, Link{URL: "http://a.example/?x"})
	l, err := f.Next(bg)
	must(t, err)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	_, err = f.Settle(bg, []Settlement{{Lease: l, Fetched: &Fetched{Status: 200, Digest: "D1", Time: noon}}})
	must(t, err)
	_, err = f.Settle(bg, []Settlement{{Lease: l, Fetched: &Fetched{URL: "http://a.example/late", Status: 301, Redirect: "/x", Time: noon}}})
	must(t, err)
	_, err = f.Put(bg, []Known{{Link: Link{URL: "http://b.example/"}, Fetched: &Fetched{Digest: "D2", Time: noon}}, {Link: Link{URL: "http://c.example/"}}})
	must(t, err)
	got := read()
	for _, want := range []captures.Capture{
		{URL: "http://a.example/?x", Time: noon, Status: 200, Digest: "D1"},
		{URL: "http://a.example/late", Time: noon, Status: 301, Redirect: "/x"},
		{URL: "http://b.example/", Time: noon, Digest: "D2"},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%+v is not among %+v", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %d captures; want 3", len(got))
	}
}

// TestTrialOfARule: a duplicate that is offered again with its own spelling as discriminator is fetched, once, beside the page, and both
// fetches can be compared (docs/SERVE.md).
func TestTrialOfARule(t *testing.T) {
	f := open(t, Options{Delay: -1})
	const first, second = "http://a.example/p", "http://a.example/p#2"
	for range 2 {
		addAll(t, f, Link{URL: first}, Link{URL: second}, Link{URL: second, Discriminator: second})
	}
	got := map[string]int{}
	for l, err := range f.Leases(bg) {
		must(t, err)
		got[l.URL]++
		must(t, f.Done(bg, l))
	}
	if got[first] != 1 || got[second] != 1 {
		t.Errorf("got %v; want the page and the other spelling fetched once each", got)
	}
}
