package frontier

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

func dropFor(t *testing.T, f *Frontier, l *Lease, status int) {
	t.Helper()
	s := Settlement{Lease: l, Outcome: Drop, Fetched: &Fetched{Status: status}}
	if strings.HasSuffix(l.URL, "tried") { // the last of its attempts
		s.Outcome, f.opt.Attempts = Retry, 1
	}
	if _, err := f.Settle(bg, []Settlement{s}); err != nil {
		t.Fatal(err)
	}
}

// TestNotFoundIsTriedAsCanonical: a spelling that is not found, and no other fault, has its page fetched once more as
// its canonical form, with its data, where that can be fetched.
func TestNotFoundIsTriedAsCanonical(t *testing.T) {
	for _, tt := range []struct {
		profile *canon.Profile
		first   string
		status  int
		want    string // "" for dropped
	}{
		{canon.Qiita(), "http://a.example//x", 404, "http://a.example/x"},
		{canon.Qiita(), "http://a.example//tried", 404, "http://a.example/tried"},
		{canon.Qiita(), "HTTP://A.example:80/x?b=1&a=2#f", 410, "http://a.example/x?a=2&b=1"},
		{canon.Qiita(), "http://a.example/x", 404, ""},
		{canon.Qiita(), "http://a.example//x", 403, ""},
		{canon.Qiita(), "http://a.example//x", 0, ""},
		{canon.WHATWG(), "http://a.example:80/x", 404, "http://a.example/x"},
		{canon.C14N(), "http://a.example/%%36%31", 404, ""}, // the form has another key
		{canon.SURT(), "http://www.a.example/X", 404, ""},
		{canon.HashedN(), "http://a.example/x?q", 404, ""},
		{canon.SafeBrowsing(), "http://a.example:81/x", 404, ""},
		{canon.None(), "http://a.example//x", 404, ""},
	} {
		for _, wire := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.profile, " ", tt.first, " ", tt.status, " ", wire), func(t *testing.T) {
				f := openKeep(t, true, Options{Profile: tt.profile, Delay: -1, Traps: Traps{Off: true}})
				addOne(t, f, Link{URL: tt.first, Meta: []byte("m"), Depth: 3, Priority: 2, Queue: "q"})
				l := leaseOne(t, f)
				must(t, f.Release(bg, l))
				if l = leaseOne(t, f); wire {
					l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
				}
				dropFor(t, f, l, tt.status)
				if tt.want == "" {
					leaseNone(t, f)
					return
				}
				if st, _ := f.Stats(bg, ""); st.Dropped != 0 || st.Held != 1 {
					t.Errorf("got %+v; want it held, and not dropped", st)
				}
				if l = nextOf(t, f, tt.want); string(l.Meta) != "m" || l.Depth != 3 || l.Priority != 2 || l.Queue != "q" || l.Attempts != 1 || l.Releases != 0 {
					t.Errorf("got %+v; want its data, in a new round", l)
				}
				dropFor(t, f, l, tt.status)
				leaseNone(t, f)
				if e, err := f.Lookup(bg, Link{URL: tt.first, Queue: "q"}); err != nil || e.State != store.Dropped || e.Status != tt.status {
					t.Errorf("got %+v, %v; want it dropped", e, err)
				}
			})
		}
	}
}
