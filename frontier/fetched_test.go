package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store/captures"
	"github.com/firstseen/firstseen/store/memstore"
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

// TestProbes checks that a share of the duplicate variants is fetched anyway, each of them once.
func TestProbes(t *testing.T) {
	f := open(t, Options{Delay: -1, Probe: 0.25})
	const n = 400
	for range 3 {
		for i := range n {
			_, err := f.Add(bg, fmt.Sprintf("http://a.example/p#%d", i))
			must(t, err)
		}
	}
	probes, spellings := 0, map[string]bool{}
	for {
		leases, _, err := f.Lease(bg, LeaseRequest{Max: 1})
		must(t, err)
		if len(leases) == 0 {
			break
		}
		for _, l := range leases {
			if spellings[l.URL] {
				t.Errorf("%s was handed out twice", l.URL)
			}
			if strings.HasPrefix(l.Discriminator, probePrefix) {
				probes, spellings[l.URL] = probes+1, true
			}
			must(t, f.Done(bg, l))
		}
	}
	if probes < n/8 || probes > n/2 {
		t.Errorf("got %d probes of %d spellings; want about a quarter", probes, n)
	}
}

func TestProbeOption(t *testing.T) {
	for _, share := range []float64{-0.1, 1.1} {
		if f, err := New(memstore.New(memstore.Options{}), Options{Probe: share}); err == nil {
			_ = f.Close()
			t.Errorf("opened with Probe %v; want an error", share)
		}
	}
}
