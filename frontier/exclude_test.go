package frontier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// changingList excludes the URLs that contain a text, which may change.
type changingList struct{ text atomic.Pointer[string] }

func (l *changingList) set(text string) { l.text.Store(&text) }

func (l *changingList) Excluded(canonical string) bool {
	text := l.text.Load()
	return text != nil && strings.Contains(canonical, *text)
}

// TestExcludedLater excludes URLs that are queued, leased and unknown already, in crawls with each way of
// making keys: none is handed out or taken any more, and each is dropped or refused in sight.
func TestExcludedLater(t *testing.T) {
	for _, crawl := range []string{"", "plain", "whatwg"} {
		synctest.Test(t, func(t *testing.T) {
			list := &changingList{}
			var gone []dropped
			f := openKeep(t, true, Options{Crawl: crawl, Delay: -1, Exclude: list.Excluded, Logger: onDrop(func(d dropped) { gone = append(gone, d) })})
			exact(t, f, "plain")
			if crawl == "whatwg" {
				must(t, f.SetCrawlProfile(bg, crawl, canon.WHATWG()))
			}
			in := func(url string) Link { return Link{URL: url, Crawl: crawl} }
			must(t, doneAtOnce(f, in("http://a.example/done"), in("http://b.example/done"))) // which come first in a listing
			addAll(t, f, in("http://a.example/secret/leased"), in("http://a.example/secret/1"), in("http://a.example/ok"), in("http://b.example/secret/1"),
				in("http://a.example/secret/2"))
			l := leaseOne(t, f) // of a.example
			list.set("/secret")
			for i, r := range addAll(t, f, in("http://a.example/secret/new"), in("http://a.example/secret/1")) {
				if r.Reason != ReasonExcluded {
					t.Errorf("URL %d offered: got %+v; want it excluded", i, r)
				}
			}
			results, err := f.Put(bg, []Known{{Link: in("http://a.example/secret/1"), Next: time.Now()}, {Link: in("http://a.example/secret/known")}, {Link: in("http://a.example/known"), Next: time.Now().Add(time.Hour)}})
			must(t, err)
			if results[0].Reason != ReasonExcluded || results[1].Reason != ReasonExcluded || results[2].Status != StatusNew {
				t.Errorf("put: got %+v; want the first two excluded", results)
			}
			must(t, f.Release(bg, l))
			if l := leaseOne(t, f); l.URL != "http://a.example/ok" {
				t.Errorf("got %s; want what is not excluded", l.URL)
			} else {
				must(t, f.Done(bg, l))
			}
			synctest.Wait()
			if e, err := f.Lookup(bg, in("http://a.example/secret/2")); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %+v, %v; want it forgotten although it was not taken", e, err)
			}
			leaseNone(t, f)
			synctest.Wait()
			var urls []string
			for _, d := range gone {
				if d.reason != ReasonExcluded {
					t.Errorf("got %+v; want it dropped as excluded", d)
				}
				urls = append(urls, d.url)
			}
			slices.Sort(urls)
			if want := []string{"http://a.example/secret/1", "http://a.example/secret/2", "http://a.example/secret/leased", "http://b.example/secret/1"}; !slices.Equal(urls, want) {
				t.Errorf("got %q dropped; want %q, each once", urls, want)
			}
			if e, err := f.Lookup(bg, in("http://a.example/secret/1")); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %+v, %v; want it forgotten", e, err)
			}
			st, err := f.Stats(bg, crawl)
			if err != nil || st.Dropped != 0 || st.Held != 1 {
				t.Errorf("got %+v, %v; want none dropped, 1 held", st, err)
			}
			var counts []string
			for r := range f.Refusals() {
				counts = append(counts, fmt.Sprintf("%s %v %d", r.Reason, r.Dropped, r.Count))
			}
			if want := []string{"excluded false 4", "excluded true 4"}; !slices.Equal(counts, want) {
				t.Errorf("got refusals %v; want %v", counts, want)
			}
		})
	}
}

// doneAtOnce puts URLs as completed.
func doneAtOnce(f *Frontier, urls ...Link) error {
	known := make([]Known, len(urls))
	for i, u := range urls {
		known[i].Link = u
	}
	_, err := f.Put(bg, known)
	return err
}

// TestExcludedStarveNobody has thousands of excluded URLs before a good one, in a queue that is served once
// a second, and as many queues with one each: they neither use up the turns of the queue nor keep a
// caller waiting.
func TestExcludedStarveNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := &changingList{}
		f := open(t, Options{Exclude: list.Excluded})
		urls := make([]Link, 5000)
		for i := range urls {
			urls[i] = Link{URL: fmt.Sprintf("http://a.example/secret/%d", i)}
		}
		addAll(t, f, urls...)
		for i := range urls {
			urls[i] = Link{URL: fmt.Sprintf("http://h%d.example/secret", i)}
		}
		addAll(t, f, urls...)
		addAll(t, f, Link{URL: "http://a.example/ok"}, Link{URL: "http://b.example/ok"})
		list.set("/secret")
		began := time.Now()
		for range 2 {
			l, err := f.Next(bg)
			must(t, err)
			if !strings.HasSuffix(l.URL, "/ok") {
				t.Fatalf("got %s; want what is not excluded", l.URL)
			}
			must(t, f.Done(bg, l))
		}
		if waited := time.Since(began); waited > 2*time.Second {
			t.Errorf("waited %v; want no more than the delay of a queue", waited)
		}
		synctest.Wait()
		st, err := f.Stats(bg, "")
		if err != nil || st.Held != 0 || st.Seen != 2 {
			t.Errorf("got %+v, %v; want all of them forgotten", st, err)
		}
	})
}

// TestCloseWhileExcludedAreDropped ends the goroutine that drops them.
func TestCloseWhileExcludedAreDropped(t *testing.T) {
	list := &changingList{}
	first := make(chan struct{})
	var once sync.Once
	f, err := New(memstore.New(memstore.Options{}), Options{Delay: -1, Exclude: list.Excluded, Logger: onDrop(func(dropped) { once.Do(func() { close(first) }) })})
	must(t, err)
	urls := make([]Link, 20_000)
	for i := range urls {
		urls[i] = Link{URL: fmt.Sprintf("http://h%d.example/secret/%d", i%100, i)}
	}
	addAll(t, f, urls...)
	list.set("/secret")
	go func() { _, _, _ = f.Lease(bg, LeaseRequest{Max: 1000}) }()
	<-first
	must(t, f.Close())
}

// TestMaxExpiredOfARequest: a request may have a bound of its own, or none.
func TestMaxExpiredOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxExpired: 2})
		addOne(t, f, Link{URL: "http://a.example/"})
		take := func(max int) int {
			leases, _, err := f.Lease(bg, LeaseRequest{MaxExpired: max})
			must(t, err)
			time.Sleep(3 * time.Minute) // and is not heard of again
			return len(leases)
		}
		for range 20 {
			if take(-1) != 1 {
				t.Fatal("got nothing; want no bound")
			}
		}
		if take(30) != 1 {
			t.Error("got nothing; want it handed out below a bound of 30")
		}
		if take(0) != 0 {
			t.Error("it was handed out; want it dropped by the default bound of 2")
		}
	})
}

// TestExcludedByTheProfileOfItsCrawl: a frontier that leases of all crawls judges a URL by the profile
// that another frontier gave its crawl.
func TestExcludedByTheProfileOfItsCrawl(t *testing.T) {
	const url = "http://a.example/?b=1&a=2" // which qiita sorts
	s := memstore.New(memstore.Options{})
	all := openOn(t, s, Options{Crawl: "*", Delay: -1, Logger: onDrop(func(dropped) {}), Exclude: func(form string) bool { return form == url }})
	other := openOn(t, s, Options{Delay: -1})
	must(t, other.SetCrawlProfile(bg, "news", canon.WHATWG()))
	addAll(t, other, Link{URL: url, Crawl: "news"}, Link{URL: url})
	if l := leaseOne(t, all); l.Crawl != store.DefaultCrawl {
		t.Errorf("got %s of crawl %s; want that of the other crawl excluded", l.URL, l.Crawl)
	}
	leaseNone(t, all)
	if st, err := all.Stats(bg, "news"); err != nil || st.Seen != 0 {
		t.Errorf("got %+v, %v; want it forgotten", st, err)
	}
}

// TestRulesExclude adds and takes back rules while URLs are queued, of one crawl and of all: they hold where they are to,
// in the frontiers that come later too, are counted with examples, and what was forgotten comes again.
func TestRulesExclude(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		f := openOn(t, s, Options{Crawl: "*", Delay: -1, Logger: onDrop(func(dropped) {})})
		offer := func(f *Frontier, want ...any) { // URL, crawl, status, …
			t.Helper()
			for i := 0; i < len(want); i += 3 {
				u := Link{URL: want[i].(string), Crawl: want[i+1].(string)}
				if r := addAll(t, f, u)[0]; r.Status != want[i+2].(Status) || r.Status == StatusRefused && r.Reason != ReasonExcluded {
					t.Errorf("%s of %s: got %v %s; want %v", u.URL, u.Crawl, r.Status, r.Reason, want[i+2])
				}
			}
		}
		offer(f, "http://a.example/x/1", "news", StatusNew, "http://a.example/x/1", "shop", StatusNew, "http://a.example/ok", "news", StatusNew, "http://b.example/p.pdf", "shop", StatusNew)
		added, err := f.Exclude(bg, "news", "a.example/x/", "a.example/x/", " a.example/y ")
		if must(t, err); added != 2 {
			t.Errorf("got %d added; want 2", added)
		}
		synctest.Wait()
		if _, err := f.Lookup(bg, Link{URL: "http://a.example/x/1", Crawl: "news"}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %v; want the queued one forgotten at once", err)
		}
		offer(f, "https://A.example/x/2", "news", StatusRefused, "http://a.example/x/1", "shop", StatusDuplicate)
		_, err = f.Exclude(bg, "*", "*/*.pdf$")
		must(t, err)
		synctest.Wait()
		offer(f, "http://c.example/q.pdf", "news", StatusRefused, "http://b.example/p.pdf", "shop", StatusRefused)
		must(t, f.Close())

		kept := true // an earlier release took rules that can never hold
		must(t, s.Configure(bg, OwnCrawl, ruleKey("news", ".a.example"), store.QueueChange{Paused: &kept}))
		f = openOn(t, s, Options{Crawl: "*", Delay: -1, Logger: onDrop(func(dropped) {})})
		offer(f, "http://a.example/x/1", "news", StatusRefused, "http://b.example/p.pdf", "shop", StatusRefused, "http://a.example/y", "news", StatusRefused)
		var listed []string
		for _, x := range f.Exclusions("news") {
			listed = append(listed, fmt.Sprintf("%s %s %d %d %v", x.Crawl, x.Rule, x.Refused, x.Forgotten, x.Examples))
		}
		if want := []string{"* */*.pdf$ 0 0 []", "news .a.example 0 0 []", "news a.example/x/ 1 0 [http://a.example/x/1]", "news a.example/y 1 0 [http://a.example/y]"}; !slices.Equal(listed, want) {
			t.Errorf("got %q; want %q", listed, want)
		}
		if names, err := f.Crawls(bg); err != nil || !slices.Equal(names, []string{"news", "shop"}) {
			t.Errorf("got crawls %q, %v; want none for the rules", names, err)
		}
		if _, err := f.Include(bg, "news", "a.example/x/", "a.example/z"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %v; want an error for a rule that is not there", err)
		}
		offer(f, "http://a.example/x/1", "news", StatusRefused)
		if n, err := f.Include(bg, "news", "a.example/x/"); err != nil || n != 1 {
			t.Errorf("got %d, %v; want 1 taken back", n, err)
		}
		offer(f, "http://a.example/x/1", "news", StatusNew, "http://a.example/y", "news", StatusRefused)
		for _, bad := range []string{"", "# a comment", "a.example\nb.example", "a b", strings.Repeat("a", 300), "a\x00b"} {
			if n, err := f.Exclude(bg, "news", "ok.example", bad); n != 0 || !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%.20q: got %d, %v; want it refused", bad, n, err)
			}
		}
		if _, err := f.Exclude(bg, "only", "!a.example/open/"); err != nil {
			t.Error(err)
		}
		offer(f, "http://a.example/1", "only", StatusNew)
		if rule, ok := f.ExcludedBy("news", "http://ok.example/"); ok {
			t.Errorf("got %q; want nothing added with a bad rule", rule)
		}
		if _, err := f.Exclude(bg, "shop", "hashed:sha1=1f9ea9d4b8db9de2d3fdf2ff3fbd6e7a2a2bdcb6"); err != nil {
			t.Errorf("got %v; want a hashed URI taken", err)
		}
	})
}

// TestRulesThatLeaveNoURL: what the rules of a crawl hold for is judged by all of them together, whenever they came and go.
func TestRulesThatLeaveNoURL(t *testing.T) {
	f := open(t, Options{Delay: -1, Logger: onDrop(func(dropped) {})})
	for i, step := range []struct {
		change func(context.Context, string, ...string) (int, error)
		rules  []string
		ok     bool
	}{
		{f.Exclude, []string{"*"}, false},
		{f.Exclude, []string{"!example.com"}, true},
		{f.Exclude, []string{"*"}, true},
		{f.Exclude, []string{"a.example"}, true},
		{f.Include, []string{"!example.com"}, false},
		{f.Include, []string{"!example.com", "*"}, true},
		{f.Exclude, []string{"/"}, false},
		{f.Include, []string{"a.example"}, true},
	} {
		if n, err := step.change(bg, "", step.rules...); (err == nil) != step.ok || !step.ok && (n != 0 || !errors.Is(err, store.ErrInvalid)) {
			t.Errorf("step %d, %q: got %d, %v; want it taken: %v", i, step.rules, n, err, step.ok)
		}
	}
}

// unlisted is a store whose entries cannot be listed while it fails.
type unlisted struct {
	store.Store
	err error
}

func (s *unlisted) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	if s.err == nil {
		return s.Store.Entries(ctx, crawl, queue)
	}
	return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, s.err) }
}

// TestWaitExcludedTellsWhatFailed: that excluded URLs could not be forgotten is returned once, and they are forgotten by the next rule.
func TestWaitExcludedTellsWhatFailed(t *testing.T) {
	s := &unlisted{Store: memstore.New(memstore.Options{}), err: errors.New("broken")}
	f := openOn(t, s, Options{Delay: -1, Logger: onDrop(func(dropped) {})})
	addAll(t, f, Link{URL: "http://a.example/x/1"})
	_, err := f.Exclude(bg, "", "a.example/x/")
	must(t, err)
	if err := f.WaitExcluded(bg); !errors.Is(err, s.err) {
		t.Errorf("got %v; want that the entries could not be listed", err)
	}
	s.err = nil
	if _, err := f.Exclude(bg, "", "a.example/x/"); err != nil || f.WaitExcluded(bg) != nil {
		t.Errorf("got %v; want nothing to do for a rule that is there", err)
	}
	_, err = f.Exclude(bg, "", "a.example/y/")
	must(t, err)
	must(t, f.WaitExcluded(bg))
	if _, err := f.Lookup(bg, Link{URL: "http://a.example/x/1"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want it forgotten", err)
	}
}

// rereading is a store that calls a function before each reading of its rules, which fails with the error of its context or of that function.
type rereading struct {
	store.Store
	before func() error
}

func (s *rereading) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	if crawl == OwnCrawl && s.before != nil {
		if err := errors.Join(s.before(), ctx.Err()); err != nil {
			return func(yield func(store.QueueInfo, error) bool) { yield(store.QueueInfo{}, err) }
		}
	}
	return s.Store.Queues(ctx, crawl, after)
}

// TestRulesKeptAreInForce: rules that are durable hold here too, though the request ends in between or the store can't be read for a while, and
// what was queued is forgotten, at the latest when they are set again.
func TestRulesKeptAreInForce(t *testing.T) {
	for failing := range 3 { // readings that fail after the first
		s := &rereading{Store: memstore.New(memstore.Options{})}
		f := openOn(t, s, Options{Delay: -1, Logger: onDrop(func(dropped) {})})
		addAll(t, f, Link{URL: "http://a.example/x/1"})
		ctx, cancel := context.WithCancel(bg)
		var reads atomic.Int64
		s.before = func() error {
			n := reads.Add(1)
			if n == 2 {
				cancel()
			}
			if n > 1 && n <= 1+int64(failing) {
				return errors.New("broken")
			}
			return nil
		}
		if _, err := f.Exclude(ctx, "", "a.example/x/"); (err != nil) != (failing > 0) {
			t.Errorf("%d failing: got %v", failing, err)
		}
		if err := f.WaitExcluded(bg); (err != nil) != (failing == 2) {
			t.Errorf("%d failing: got %v; want an error if the rules could not be read in the background either", failing, err)
		}
		if n, err := f.Exclude(bg, "", "a.example/x/"); n != 0 || err != nil {
			t.Errorf("%d failing: got %d, %v; want the rule kept before", failing, n, err)
		}
		must(t, f.WaitExcluded(bg))
		if st, err := f.Stats(bg, ""); err != nil || st.Held != 0 {
			t.Errorf("%d failing: got %+v, %v; want it forgotten", failing, st, err)
		}
	}
}

// TestNoLongerExcludedIsPutBack: a URL that was excluded when it was taken, and no longer when it was to be forgotten, is handed out, and nothing
// counts.
func TestNoLongerExcludedIsPutBack(t *testing.T) {
	for attempts := 1; attempts <= 2; attempts++ {
		var once atomic.Bool
		f := open(t, Options{Delay: -1, Exclude: func(string) bool { return once.CompareAndSwap(true, false) }})
		addOne(t, f, Link{URL: "http://a.example/", Meta: []byte("mine"), Priority: 3})
		if attempts == 2 {
			_, err := f.Retry(bg, leaseOne(t, f), time.Now().Add(-time.Second))
			must(t, err)
		}
		once.Store(true)
		l := leaseOne(t, f)
		if l.Failures != attempts-1 || l.Expiries != 0 || l.Priority != 3 || string(l.Meta) != "mine" {
			t.Errorf("attempt %d: got %+v; want it as it was", attempts, l)
		}
		must(t, f.Done(bg, l))
	}
}

// TestForgettingGoesOn: what a frontier had to leave, the next one forgets; and what all was, no frontier looks for again.
func TestForgettingGoesOn(t *testing.T) {
	for _, crawl := range []string{"", "*"} {
		s := &unlisted{Store: memstore.New(memstore.Options{}), err: errors.New("broken")}
		opt := Options{Delay: -1, Logger: onDrop(func(dropped) {})}
		f := openOn(t, s, opt)
		addAll(t, f, Link{URL: "http://a.example/x/1", Due: time.Now().Add(time.Hour)})
		_, err := f.Exclude(bg, crawl, "a.example/x/")
		must(t, err)
		must(t, f.Close())
		for i, broken := range []error{s.err, nil, errors.New("broken again")} {
			s.err = broken
			f = openOn(t, s, opt)
			if err := f.WaitExcluded(bg); (err != nil) != (i == 0) {
				t.Errorf("start %d: got %v; want an error in the first alone, since later ones have nothing to look for", i, err)
			}
			if st, err := f.Stats(bg, ""); err != nil || (st.Held == 1) != (i == 0) {
				t.Errorf("start %d: got %+v, %v; want it forgotten by the second start", i, st, err)
			}
			must(t, f.Close())
		}
	}
}

// TestFailureOfOneCrawlIsKept: that all of one crawl was forgotten says nothing of another, whose entries could not be listed.
func TestFailureOfOneCrawlIsKept(t *testing.T) {
	for _, crawl := range []string{"one", "*"} {
		s := &unlisted{Store: memstore.New(memstore.Options{}), err: errors.New("broken")}
		opt := Options{Crawl: "one", Delay: -1, Logger: onDrop(func(dropped) {})}
		f := openOn(t, s, opt)
		addAll(t, f, Link{URL: "http://a.example/x/1"}, Link{URL: "http://a.example/1", Crawl: "two"})
		_, err := f.Exclude(bg, crawl, "a.example/x/")
		must(t, err)
		if f.WaitExcluded(bg) == nil {
			t.Error("got no error; want that the entries could not be listed")
		}
		s.err = nil
		_, err = f.Exclude(bg, "two", "a.example/y/")
		must(t, err)
		must(t, f.WaitExcluded(bg))
		must(t, f.Close())
		f = openOn(t, s, opt)
		must(t, f.WaitExcluded(bg))
		if st, err := f.Stats(bg, ""); err != nil || st.Held != 0 {
			t.Errorf("rule of %s: got %+v, %v; want it forgotten by the next start", crawl, st, err)
		}
	}
}

// TestPutBackExcludedIsForgotten: a URL that became excluded while it was leased is forgotten when it goes back into its queue, however it
// does, and not weeks later.
func TestPutBackExcludedIsForgotten(t *testing.T) {
	for _, wire := range []bool{false, true} {
		for _, o := range []Outcome{Recrawl, Retry, Defer, Release, Drop} { // a Drop queues the canonical form
			f := openKeep(t, true, Options{Delay: -1, Logger: onDrop(func(dropped) {})})
			addOne(t, f, Link{URL: "http://A.example:80/x?b=1&a=2"})
			l := leaseOne(t, f)
			_, err := f.Exclude(bg, "", "a.example/x")
			must(t, err)
			must(t, f.WaitExcluded(bg))
			if wire {
				l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
			}
			got, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: o, At: time.Now().Add(time.Hour), Fetched: &Fetched{Status: 404}}})
			if err != nil || got[0] != OK {
				t.Errorf("outcome %d: got %v, %v; want ok", o, got, err)
			}
			if st, err := f.Stats(bg, ""); err != nil || st.Held+st.Seen != 0 {
				t.Errorf("outcome %d: got %+v, %v; want it forgotten", o, st, err)
			}
		}
	}
}

// TestWhatIsOverForgetsNothing: a late report that changes nothing leaves an excluded URL to its next holder, or done.
func TestWhatIsOverForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 24 {
			o, wire, done := []Outcome{Retry, Defer, Release, Drop, Extend, Redirected}[i%6], i/6%2 == 0, i/12 == 0
			f := openKeep(t, true, Options{Delay: -1, Logger: onDrop(func(d dropped) { t.Errorf("case %d: got %+v; want nothing forgotten", i, d) })})
			addOne(t, f, Link{URL: "http://A.example:80/x?b=1&a=2"})
			late := leaseOne(t, f)
			time.Sleep(time.Until(late.Expires))
			l := leaseOne(t, f)
			if done {
				must(t, f.Done(bg, l))
			}
			_, err := f.Exclude(bg, "", "a.example/x")
			must(t, err)
			must(t, f.WaitExcluded(bg))
			before, err := f.Stats(bg, "")
			must(t, err)
			if wire {
				late = &Lease{Crawl: late.Crawl, Key: late.Key, Token: late.Token, URL: late.URL}
			}
			if o == Redirected {
				_, err = f.Redirect(bg, late, "http://a.example/x/next")
			} else {
				_, err = f.settleOne(bg, Settlement{Lease: late, Outcome: o, Fetched: &Fetched{Status: 404}})
			}
			if !errors.Is(err, ErrStale) && !errors.Is(err, ErrAlreadyDone) && o != Redirected {
				t.Errorf("case %d: got %v; want a lease that is over", i, err)
			}
			if after, err := f.Stats(bg, ""); err != nil || after != before && o != Redirected {
				t.Errorf("case %d: got %+v, %v; want %+v", i, after, err, before)
			} else if o == Redirected && after.Seen != before.Seen {
				t.Errorf("case %d: redirected: got %+v; want %+v", i, after, before)
			}
		}
	})
}

// TestPutBackByOthersIsForgotten: so is one that an operator frees, and one that was dropped when its result came late.
func TestPutBackByOthersIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []bool{false, true} {
			f := openKeep(t, true, Options{Delay: -1, Logger: onDrop(func(dropped) {})})
			addOne(t, f, Link{URL: "http://a.example/x"})
			l := leaseOne(t, f)
			if late {
				time.Sleep(time.Until(l.Expires))
				must(t, f.Drop(bg, leaseOne(t, f)))
			}
			_, err := f.Exclude(bg, "", "a.example/x")
			must(t, err)
			must(t, f.WaitExcluded(bg))
			if late {
				must(t, f.Recrawl(bg, &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}, time.Now().Add(time.Hour)))
			} else if n, _, err := f.Change(bg, Query{}, ActionFree); n != 1 || err != nil {
				t.Errorf("got %d freed, %v; want 1", n, err)
			}
			if st, err := f.Stats(bg, ""); err != nil || st.Held+st.Seen != 0 {
				t.Errorf("late %v: got %+v, %v; want it forgotten", late, st, err)
			}
		}
	})
}

// TestRulesOfAnyCrawlAreKept: the name of a crawl may contain what separates it from its rules.
func TestRulesOfAnyCrawlAreKept(t *testing.T) {
	s := memstore.New(memstore.Options{})
	f := openOn(t, s, Options{})
	_, err := f.Exclude(bg, "a\x00b", "x.example")
	must(t, err)
	must(t, f.WaitExcluded(bg))
	must(t, f.Close())
	f = openOn(t, s, Options{})
	if got := f.Exclusions("*"); len(got) != 1 || got[0].Crawl != "a\x00b" || got[0].Rule != "x.example" {
		t.Errorf("got %+v; want the rule of the crawl", got)
	}
}

// TestRulesOfACopyAreChecked: what no frontier would add is refused when it is set for a crawl, before anything is kept; the order of a crawl is no rule.
func TestRulesOfACopyAreChecked(t *testing.T) {
	s := memstore.New(memstore.Options{})
	f := openOn(t, s, Options{})
	_, err := f.Exclude(bg, "", "a.example")
	must(t, err)
	must(t, f.WaitExcluded(bg))
	must(t, f.Close())
	c := StoredCrawl{Name: "DEFAULT", Stored: "DEFAULT"}
	for _, bad := range []string{"other\x00b.example", strings.Repeat("b", store.MaxQueueKey), "/", "#"} {
		scope := store.Scope{Rules: [][]byte{[]byte("b.example"), []byte(bad)}}
		if err := c.Set(bg, s, scope); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%.20q: got %v; want ErrInvalid", bad, err)
		}
	}
	rules, left, err := storedRules(bg, s)
	if err != nil || len(rules) != 1 || !slices.Equal(rules["DEFAULT"], []string{"a.example"}) || len(left) > 0 {
		t.Errorf("got %q, %v, %v; want the rule from before alone", rules, left, err)
	}
	must(t, c.Set(bg, s, store.Scope{Rules: [][]byte{[]byte("b.example"), []byte(depthFirst)}}))
	if rules, left, err = storedRules(bg, s); err != nil || len(rules["DEFAULT"]) != 3 || len(left) != 1 {
		t.Errorf("got %q, %v, %v; want both beside it, and the crawl to be gone through", rules, left, err)
	}
}

// TestForgottenCrawlLeavesNothing: a crawl that is forgotten takes its exclusions, its order and what is counted of it along, for a new one of
// its name and in the store; others keep theirs.
func TestForgottenCrawlLeavesNothing(t *testing.T) {
	onDisk, err := pebblestore.Open(t.TempDir(), pebblestore.Options{KeepURLs: true})
	must(t, err)
	defer func() { must(t, onDisk.Close()) }()
	for name, s := range map[string]store.Store{"memory": memstore.New(memstore.Options{KeepURLs: true}), "disk": onDisk} {
		t.Run(name, func(t *testing.T) {
			f := openOn(t, s, Options{Crawl: "old", Delay: -1, FailingAfter: 1})
			in := func(crawl, url string) Link { return Link{URL: url, Crawl: crawl} }
			for _, crawl := range []string{"old", "other", "*"} {
				_, err := f.Exclude(bg, crawl, "x.example/"+strings.Trim(crawl, "*")+"/")
				must(t, err)
				must(t, f.SetDepthFirst(bg, crawl, crawl != "*"))
			}
			must(t, f.WaitExcluded(bg))
			addAll(t, f, in("old", "http://x.example/1"), in("old", "http://x.example/old/1"))
			must(t, setForgetting(bg, s, "old", true)) // as a process leaves it that ended
			l := leaseOne(t, f)
			_, err := f.Retry(bg, l, time.Time{})
			must(t, err)
			if n, err := f.Forget(bg, Selection{Crawl: "old"}); n != 1 || err != nil {
				t.Fatalf("forgot %d, %v; want 1", n, err)
			}
			if f.DepthFirst("old") || !f.DepthFirst("other") {
				t.Error("want the order of the crawl forgotten, not that of the other")
			}
			if n, waits := f.Failing("old", "x.example"); n != 0 || waits {
				t.Errorf("got %d failures, waits %v; want none", n, waits)
			}
			if r := addAll(t, f, in("old", "http://x.example/old/1"), in("other", "http://x.example/other/1")); r[0].Status != StatusNew || r[1].Reason != ReasonExcluded {
				t.Errorf("got %+v; want no rule for the new crawl, and that of the other", r)
			}
			for q, err := range s.Queues(bg, OwnCrawl, "") {
				if crawl, rule, _ := ruleOf(q.Name); err != nil || crawl == "old" {
					t.Errorf("the store has %q, %v; want nothing of the crawl", rule, err)
				}
			}
		})
	}
}

// unforgetting is a store with damage in what a Forget has to read.
type unforgetting struct {
	store.Store
	takes atomic.Int64
}

func (s *unforgetting) Forget(context.Context, store.Selection) (int64, error) {
	return 0, store.ErrCorrupt
}

func (s *unforgetting) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	if s.takes.Add(1) > 1000 {
		return store.Taken{}, store.ErrUnavailable
	}
	return s.Store.Take(ctx, req)
}

// TestExcludedAndDamaged: URLs that are excluded and can't be forgotten are not handed out, nor taken again without a pause.
func TestExcludedAndDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unforgetting{Store: memstore.New(memstore.Options{})}
		f := openOn(t, s, Options{Delay: -1, MaxInFlight: -1, Logger: slog.New(slog.DiscardHandler)})
		addAll(t, f, Link{URL: "http://q.example/1"}, Link{URL: "http://q.example/2"})
		_, err := f.Exclude(bg, "", "q.example")
		must(t, err)
		ctx, cancel := context.WithTimeout(bg, 10*time.Second)
		defer cancel()
		leases, _, err := f.LeaseWait(ctx, LeaseRequest{Max: 5}, false)
		if n := s.takes.Load(); len(leases) > 0 || !errors.Is(err, context.DeadlineExceeded) || n > 100 {
			t.Errorf("got %d leases, %v after %d takes; want none in 10 s, by few", len(leases), err, n)
		}
	})
}

// TestDamageKeepsNothingElse: what is taken beside excluded URLs that can't be forgotten is dropped as ever.
func TestDamageKeepsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unforgetting{Store: memstore.New(memstore.Options{})}
		f := openOn(t, s, Options{Delay: -1, MaxInFlight: -1, Lease: time.Second, MaxExpired: 1, Logger: slog.New(slog.DiscardHandler)})
		addAll(t, f, Link{URL: "http://r.example/"})
		leaseOne(t, f)
		time.Sleep(2 * time.Second)
		addAll(t, f, Link{URL: "http://q.example/"})
		_, err := f.Exclude(bg, "", "q.example")
		must(t, err)
		_, _, err = f.Lease(bg, LeaseRequest{Max: 5})
		if st, errStats := f.Stats(bg, ""); st.Dropped != 1 || errStats != nil {
			t.Errorf("got %d dropped, %v, %v; want the URL whose lease ran out", st.Dropped, err, errStats)
		}
	})
}

// forgottenBefore is a store in which another call forgets the same URLs first.
type forgottenBefore struct{ store.Store }

func (s forgottenBefore) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	if _, err := s.Store.Forget(ctx, sel); err != nil {
		return 0, err
	}
	return s.Store.Forget(ctx, sel)
}

// TestExcludedIsCountedOnce: of several calls that forget an excluded URL at once, the one that did counts it.
func TestExcludedIsCountedOnce(t *testing.T) {
	f := openOn(t, forgottenBefore{memstore.New(memstore.Options{})}, Options{Logger: slog.New(slog.DiscardHandler)})
	addAll(t, f, Link{URL: "http://q.example/1"}, Link{URL: "http://q.example/2"})
	_, err := f.Exclude(bg, "", "q.example")
	must(t, err)
	must(t, f.WaitExcluded(bg))
	for r := range f.Refusals() {
		t.Errorf("got %+v; want nothing counted by the call that came second", r)
	}
}
