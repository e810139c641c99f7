package frontier

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

func isAd(canonical string) bool { return strings.Contains(canonical, "/ads/") }

func TestAddBatchAnswersEachURL(t *testing.T) {
	f := open(t, Options{MaxDepth: 3, Exclude: isAd})
	long := strings.Repeat("a", 3000)
	tests := []struct {
		url       Link
		status    Status
		reason    Reason
		canonical string
		first     string
	}{
		{Link{URL: "http://a.example/b?y&x=1"}, StatusNew, "", "http://a.example/b?x=1&y=", ""},
		{Link{URL: "http://A.example:80/b?x=1&y="}, StatusDuplicate, "", "http://a.example/b?x=1&y=", "http://a.example/b?y&x=1"},
		{Link{URL: "no url"}, StatusRefused, ReasonURL, "", ""},
		{Link{URL: ""}, StatusRefused, ReasonURL, "", ""},
		{Link{URL: "mailto:a@b.example"}, StatusRefused, ReasonScheme, "", ""},
		{Link{URL: "http://a.example/" + long}, StatusRefused, ReasonTooLong, "http://a.example/" + long, ""},
		{Link{URL: "http://a.example/ads/1"}, StatusRefused, ReasonExcluded, "http://a.example/ads/1", ""},
		{Link{URL: "http://a.example/deep", Depth: 4}, StatusRefused, ReasonDepth, "http://a.example/deep", ""},
		{Link{URL: "http://a.example/deep", Depth: 3}, StatusNew, "", "http://a.example/deep", ""},
		{Link{URL: "http://a.example/q", Queue: strings.Repeat("q", 256)}, StatusRefused, ReasonQueue, "http://a.example/q", ""},
		{Link{URL: "http://a.example/q", Queue: strings.Repeat("q", 255)}, StatusNew, "", "http://a.example/q", ""},
		{Link{URL: "http://a.example/q", Crawl: "*"}, StatusRefused, ReasonCrawl, "", ""},
		{Link{URL: "http://a.example/q", Crawl: "x|exact"}, StatusRefused, ReasonCrawl, "", ""},
		{Link{URL: "http://a.example/q", Crawl: "other"}, StatusNew, "", "http://a.example/q", ""},
	}
	urls := make([]Link, len(tests))
	for i, tt := range tests {
		urls[i] = tt.url
	}
	for i, r := range addAll(t, f, urls...) {
		tt := tests[i]
		if r.Status != tt.status || r.Reason != tt.reason || r.Canonical != tt.canonical || r.First != tt.first {
			t.Errorf("%.60s: got %v %q %.60q first %q; want %v %q %.60q first %q", tt.url.URL,
				r.Status, r.Reason, r.Canonical, r.First, tt.status, tt.reason, tt.canonical, tt.first)
		}
		if want := hashkey.SumShort([]byte(tt.canonical)); tt.canonical != "" && tt.reason != ReasonQueue && r.Key != want {
			t.Errorf("%.60s: got key %x; want %x", tt.url.URL, r.Key, want)
		}
		if hasErr := r.Err != nil; hasErr != (r.Canonical == "" && r.Reason != ReasonCrawl) {
			t.Errorf("%.60s: got error %v with reason %q", tt.url.URL, r.Err, r.Reason)
		}
	}
	stats, err := f.Stats(bg, "*")
	must(t, err)
	if stats.Seen != 4 || stats.Held != 4 {
		t.Errorf("got %d seen, %d held; want 4 and 4: what is refused is not recorded", stats.Seen, stats.Held)
	}
}

func TestRefusalsAreCountedAndListed(t *testing.T) {
	f := open(t, Options{})
	for i := range 12 {
		addOne(t, f, Link{URL: fmt.Sprintf("gopher://h.example/%d", i)})
	}
	addAll(t, f, Link{URL: "::", Crawl: "b"}, Link{URL: "http://ok.example/"})
	got := slices.Collect(f.Refusals())
	if len(got) != 2 || got[0].Reason != ReasonScheme || got[0].Count != 12 || got[1].Crawl != "b" || got[1].Count != 1 {
		t.Fatalf("got %+v; want 12 of scheme in DEFAULT, 1 in b", got)
	}
	if ex := got[0].Examples; len(ex) != maxExamples || ex[0] != "gopher://h.example/2" || ex[9] != "gopher://h.example/11" {
		t.Errorf("got examples %q; want the last 10", ex)
	}
}

// TestRefusalsAreBounded offers refused URLs under names without end, and one in a
// long message.
func TestRefusalsAreBounded(t *testing.T) {
	f := open(t, Options{})
	long := "::" + strings.Repeat("x", 100_000)
	addOne(t, f, Link{URL: long, Crawl: "first"})
	for i := range 2*maxRefusals + 1 {
		addOne(t, f, Link{URL: "::", Crawl: fmt.Sprintf("x%d", i)})
	}
	addOne(t, f, Link{URL: "::", Crawl: "first"})
	got := slices.Collect(f.Refusals())
	if len(got) != maxRefusals+1 || got[0].Crawl != "" || got[0].Count != maxRefusals+2 || got[1].Crawl != "first" || got[1].Count != 2 {
		t.Fatalf("got %d counts, first %+v; want %d, the rest under no name", len(got), got[:min(len(got), 2)], maxRefusals+1)
	}
	if ex := got[1].Examples[0]; ex != long[:256] || unsafe.StringData(ex) == unsafe.StringData(long) {
		t.Errorf("got example %q; want a copy of the first 256 bytes", ex)
	}
}

// TestBigBatchIsAsManySmallOnes holds the parallel path to the plain one.
func TestBigBatchIsAsManySmallOnes(t *testing.T) {
	var urls []Link
	for i := range 5000 {
		urls = append(urls, Link{URL: fmt.Sprintf("http://h%d.example/p?q=%d", i%7, i%1700)}, Link{URL: "::bad"})
	}
	big, small := open(t, Options{}), open(t, Options{})
	got := addAll(t, big, urls...)
	for i, u := range urls {
		want := addOne(t, small, u)
		if g := got[i]; g.Status != want.Status || g.Reason != want.Reason || g.Key != want.Key || g.First != want.First || g.Queue != want.Queue {
			t.Fatalf("URL %d %s: got %+v; want %+v", i, u.URL, g, want)
		}
	}
}

func TestOrderOfResultsAcrossCrawls(t *testing.T) {
	f := open(t, Options{})
	var urls []Link
	for i := range 30 {
		urls = append(urls, Link{URL: fmt.Sprintf("http://h.example/%d", i/3), Crawl: []string{"a", "b", ""}[i%3]})
	}
	for i, r := range addAll(t, f, append(urls, urls...)...) {
		want := StatusNew
		if i >= 30 {
			want = StatusDuplicate
		}
		if r.Status != want || r.Canonical != urls[i%30].URL {
			t.Errorf("result %d: got %v of %s; want %v of %s", i, r.Status, r.Canonical, want, urls[i%30].URL)
		}
	}
	names, err := f.Crawls(bg)
	must(t, err)
	if !slices.Equal(names, []string{"DEFAULT", "a", "b"}) {
		t.Errorf("got crawls %q", names)
	}
}

func TestCapsRefuseAsFull(t *testing.T) {
	f := open(t, Options{MaxPerQueue: 2, MaxHeld: 3})
	var got []Reason
	for _, u := range []string{"http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/1", "http://c.example/1", "http://a.example/1"} {
		got = append(got, addOne(t, f, Link{URL: u}).Reason)
	}
	if want := []Reason{"", "", ReasonFull, "", ReasonFull, ""}; !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestForceQueuesWhatWasSeen(t *testing.T) {
	f := open(t, Options{Delay: -1})
	u := Link{URL: "http://a.example/", Force: true}
	if r := addOne(t, f, u); r.Status != StatusNew || r.Requeued {
		t.Fatalf("got %+v; want new", r)
	}
	if r := addOne(t, f, u); r.Status != StatusDuplicate || r.Requeued {
		t.Fatalf("got %+v; want a duplicate left where it is", r)
	}
	must(t, f.Done(bg, leaseOne(t, f)))
	if r := addOne(t, f, u); r.Status != StatusDuplicate || !r.Requeued {
		t.Fatalf("got %+v; want a duplicate queued again", r)
	}
	leaseOne(t, f)
}

func TestDiscriminatorMakesAnotherKey(t *testing.T) {
	f := open(t, Options{Delay: -1})
	for _, disc := range []string{"", "POST", "de", "\x00"} {
		if r := addOne(t, f, Link{URL: "http://a.example/", Discriminator: disc}); r.Status != StatusNew {
			t.Errorf("discriminator %q: got %v; want new", disc, r.Status)
		}
	}
	seen := map[string]bool{}
	for range 4 {
		l := leaseOne(t, f)
		seen[l.Discriminator] = true
		must(t, f.Done(bg, l))
	}
	if len(seen) != 4 {
		t.Errorf("got discriminators %v back; want all four", seen)
	}
}

func TestExactCrawlTellsSpellingsAndQueuesApart(t *testing.T) {
	f := exact(t, open(t, Options{}), "raw")
	offers := []Link{
		{URL: "http://a.example/#1"}, {URL: "http://a.example/#2"}, {URL: "HTTP://A.example/"},
		{URL: "http://a.example/#1", Queue: "k"}, {URL: "not a URL", Queue: "k"},
	}
	for i := range offers {
		offers[i].Crawl = "raw"
		if r := addOne(t, f, offers[i]); r.Status != StatusNew {
			t.Errorf("%s in %q: got %v %q; want new", offers[i].URL, offers[i].Queue, r.Status, r.Reason)
		}
		if r := addOne(t, f, offers[i]); r.Status != StatusDuplicate {
			t.Errorf("%s again: got %v; want duplicate", offers[i].URL, r.Status)
		}
	}
	if r := addOne(t, f, Link{URL: "no queue", Crawl: "raw"}); r.Reason != ReasonQueue {
		t.Errorf("got %v %q; want refused for its queue", r.Status, r.Reason)
	}
	if q, err := f.Queue(bg, "raw", "a.example"); err != nil || q.Held != 3 || q.Crawl != "raw" {
		t.Errorf("got queue %+v, %v; want 3 URLs in crawl raw", q, err)
	}
	names, err := f.Crawls(bg)
	if must(t, err); !slices.Equal(names, []string{"raw"}) {
		t.Errorf("got crawls %q; want raw alone", names)
	}
}

func TestExactCrawlStaysExact(t *testing.T) {
	s := memstore.New(memstore.Options{})
	first := exact(t, openOn(t, s, Options{}), "raw")
	addOne(t, first, Link{URL: "http://a.example/#1", Crawl: "raw"})
	again := openOn(t, s, Options{})
	if r := addOne(t, again, Link{URL: "http://a.example/#2", Crawl: "raw"}); r.Status != StatusNew {
		t.Errorf("got %v; want new: the store knows that the crawl is exact", r.Status)
	}
	addOne(t, again, Link{URL: "http://a.example/", Crawl: "plain"})
	if err := again.SetCrawlProfile(bg, "plain", canon.None()); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want ErrIdentity for a crawl with keys", err)
	}
	must(t, again.SetCrawlProfile(bg, "raw", canon.None()))
	if err := again.SetCrawlProfile(bg, "*", canon.None()); err == nil {
		t.Error("got every crawl made exact; want the name of one")
	}
}

func TestNewRefuses(t *testing.T) {
	whatwg := memstore.New(memstore.Options{})
	must(t, whatwg.Prepare(bg, store.Terms{Identity: store.IdentityOf(canon.WHATWG())}))
	if _, err := New(whatwg, Options{}); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want ErrIdentity for the store of another profile", err)
	}
	for _, s := range []store.Store{nil, (*memstore.Store)(nil)} {
		if _, err := New(s, Options{}); err == nil || !strings.Contains(err.Error(), "there is no store") {
			t.Errorf("got %v without a store; want an error that says so", err)
		}
	}
	for _, opt := range []Options{{Lease: -1}, {MaxDepth: -1}, {Adaptive: -1}, {Profile: &canon.Profile{}}} {
		if f, err := New(memstore.New(memstore.Options{}), opt); err == nil {
			t.Errorf("got %v made with %+v; want an error", f, opt)
		}
	}
	for range 20 { // of several, the same is always named
		if _, err := New(memstore.New(memstore.Options{}), Options{MaxDepth: -1, Lease: -1, SeenFor: -1, RetryAfter: -1}); err == nil || !strings.Contains(err.Error(), "got Lease") {
			t.Fatalf("got %v; want the first of the invalid options, Lease", err)
		}
	}
}

func TestSeeRecordsWithoutQueueing(t *testing.T) {
	f := open(t, Options{})
	u := Link{URL: "http://a.example/", Force: true}
	for i, want := range []Status{StatusNew, StatusDuplicate, StatusDuplicate} {
		results, err := f.See(bg, []Link{u})
		if err != nil || results[0].Status != want || results[0].Requeued {
			t.Errorf("time %d: got %+v, %v; want %v", i, results, err, want)
		}
	}
	leaseNone(t, f)
	if r := addOne(t, f, u); !r.Requeued {
		t.Errorf("got %+v; want it queued by force", r)
	}
}

// TestRaise: offers of a queued URL that ask for it raise its priority, lower its depth and make it due; no other offer
// does, nor one of a URL in another state, and the counts of its round stay.
func TestRaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Delay: -1, MaxDepth: 9})
		page, later := "http://a.example/", time.Now().Add(time.Hour)
		check := func(what string, o Link, raised bool, priority uint8, depth int, due time.Time) {
			t.Helper()
			o.URL = page
			r := addAll(t, f, o)[0]
			e, err := f.Lookup(bg, Link{URL: page})
			must(t, err)
			if r.Status != StatusDuplicate || r.Raised != raised || e.Priority != priority || e.Depth != depth || !e.Due.Equal(due) || string(e.Meta) != "m" || e.Failures != 1 {
				t.Errorf("%s: got %+v, %+v; want raised %t, priority %d, depth %d, due %v", what, r, e, raised, priority, depth, due)
			}
		}
		addAll(t, f, Link{URL: page, Depth: 5, Priority: 1, Meta: []byte("m")})
		_, err := f.Retry(bg, leaseOne(t, f), later)
		must(t, err)
		check("no Raise", Link{Priority: 7}, false, 1, 5, later)
		check("lower", Link{Raise: true, Priority: 0, Depth: 6}, false, 1, 5, later)
		check("priority", Link{Raise: true, Priority: 3, Depth: 5}, true, 3, 5, later)
		check("depth", Link{Raise: true, Depth: 2}, true, 3, 2, later)
		check("force for later", Link{Force: true, Due: later.Add(time.Hour), Depth: 0}, false, 3, 2, later)
		check("force", Link{Force: true}, true, 3, 2, time.Now())
		if r := addAll(t, f, Link{URL: page, Raise: true, Priority: 5}, Link{URL: page, Raise: true, Priority: 4}, Link{URL: page, Force: true}); !r[0].Raised {
			t.Errorf("got %+v; want it raised once more", r)
		}
		if l := leaseOne(t, f); l.Priority != 5 || l.Depth != 0 || l.Failures != 1 || l.Attempts != 2 {
			t.Errorf("got %+v; want it with the highest priority, in the same round", l)
		}
		if r := addAll(t, f, Link{URL: page, Force: true, Raise: true, Priority: 7})[0]; r.Raised || r.Requeued {
			t.Errorf("got %+v; want nothing done to a leased URL", r)
		}
	})
}
