package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestRedirectToTheSameKeyIsFollowed checks a case that could lose whole sites: by the rules, http
// and https are one page, and http redirects to https.
func TestRedirectToTheSameKeyIsFollowed(t *testing.T) {
	folding, err := canon.Qiita().With(canon.Enable("fold-https"))
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Profile: folding, Delay: -1, Lease: time.Minute})
		addOne(t, f, Link{URL: "http://a.example/", Meta: []byte("m"), Depth: 1})
		l := leaseOne(t, f)
		time.Sleep(50 * time.Second)
		r, err := f.Redirect(bg, l, "https://a.example/")
		if err != nil || r.Follow == nil || r.Follow.URL != "https://a.example/" || r.Follow.Redirects != 1 || string(r.Follow.Meta) != "m" {
			t.Fatalf("got %+v, %v; want to be told to follow", r, err)
		}
		time.Sleep(50 * time.Second)
		leaseNone(t, f) // the lease was held for longer
		if again, err := f.Retry(bg, r.Follow, time.Now()); err != nil || !again {
			t.Fatalf("got %v, %v; want the lease still good", again, err)
		}
		if l = leaseOne(t, f); l.URL != "https://a.example/" || l.Redirects != 1 || l.Depth != 1 {
			t.Errorf("got %+v; want the new fetch URL handed out", l)
		}
		must(t, f.Recrawl(bg, l, time.Now()))
		if l = leaseOne(t, f); l.Redirects != 0 || string(l.Meta) != "m" {
			t.Errorf("got %+v; want the hops counted anew for a recrawl", l)
		}
		must(t, f.Done(bg, l))
		if r := addOne(t, f, Link{URL: "http://a.example/"}); r.Status != StatusDuplicate {
			t.Errorf("got %v; want the source a duplicate still", r.Status)
		}
	})
}

// TestRedirectToARelativeURL takes a Location as it is sent, so that no page is lost to it.
func TestRedirectToARelativeURL(t *testing.T) {
	for target, want := range map[string]string{
		"/moved": "http://a.example/moved", "moved": "http://a.example/b/moved", "../moved?x": "http://a.example/moved?x", "?y": "http://a.example/b/c?y",
		"//b.example/": "http://b.example/", "HTTP://B.example/": "HTTP://B.example/", "a:b": "", "": "",
	} {
		f := open(t, Options{Delay: -1})
		addOne(t, f, Link{URL: "http://a.example/b/c?x"})
		r, err := f.Redirect(bg, leaseOne(t, f), target)
		if want == "" {
			if err != nil || r.Target.Status != StatusRefused {
				t.Errorf("%q: got %+v, %v; want it refused", target, r, err)
			}
			continue
		}
		if err != nil || r.Target.Status != StatusNew {
			t.Errorf("%q: got %+v, %v; want a new URL", target, r, err)
		} else if l := leaseOne(t, f); l.URL != want {
			t.Errorf("%q: got %s; want %s", target, l.URL, want)
		}
	}
}

func TestRedirectToAnotherKeyIsALink(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example/", Depth: 2, Priority: 3})
	l := leaseOne(t, f)
	r, err := f.Redirect(bg, l, "http://b.example/")
	if err != nil || r.Follow != nil || r.Target.Status != StatusNew {
		t.Fatalf("got %+v, %v; want a new target", r, err)
	}
	if err := f.Done(bg, l); !errors.Is(err, ErrStale) {
		t.Errorf("got %v; want the source settled", err)
	}
	if l = leaseOne(t, f); l.URL != "http://b.example/" || l.Depth != 2 || l.Priority != 3 || l.Redirects != 1 {
		t.Errorf("got %+v; want the target at its source's depth and priority", l)
	}
	must(t, f.Done(bg, l))
	addOne(t, f, Link{URL: "http://c.example/"})
	if r, err = f.Redirect(bg, leaseOne(t, f), "http://a.example/"); err != nil || r.Target.Status != StatusDuplicate || r.Target.Requeued {
		t.Errorf("got %+v, %v; want a target that another chain led to a duplicate", r, err)
	}
	leaseNone(t, f)
}

// TestRedirectBackIntoTheChainIsFollowed: pages that a redirect sets a cookie for, and sends back, by any
// number of steps. What its target gets of its source stays with each page of the chain.
func TestRedirectBackIntoTheChainIsFollowed(t *testing.T) {
	for steps := 1; steps <= 4; steps++ {
		for _, wire := range []bool{false, true} {
			f := openKeep(t, true, Options{Delay: -1, MaxDepth: 3, Traps: Traps{PathDepth: 3}})
			page := Link{URL: "http://a.example/a/b/c/d/e?q", Meta: []byte("m"), Depth: 3, Priority: 2, SkipTraps: true}
			addAll(t, f, page)
			at := page.URL
			for i := range 2*steps + 1 {
				l := nextOf(t, f, at)
				if string(l.Meta) != "m" || l.Depth != 3 || l.Priority != 2 || l.Redirects != i || !l.record().exempt {
					t.Fatalf("hop %d: got %+v; want the page's data", i, l)
				}
				if i == 2*steps {
					must(t, f.Done(bg, l))
					break
				}
				if wire {
					l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
				}
				if at = fmt.Sprintf("http://a.example/set/a/b/c/d/%d?q=%d", i, i); i%(steps+1) == steps {
					at = page.URL
				}
				r, err := f.Redirect(bg, l, at)
				if must(t, err); r.Follow != nil || r.Target.Status == StatusRefused {
					t.Fatalf("hop %d: got %+v; want the target queued", i, r)
				}
				if st, _ := f.Stats(bg, ""); st.Held != 1 {
					t.Fatalf("hop %d: got %d held; want the crawl not finished before the end of the chain", i, st.Held)
				}
			}
			leaseNone(t, f)
		}
	}
}

// nextOf leases the one URL there is.
func nextOf(t *testing.T, f *Frontier, want string) *Lease {
	t.Helper()
	l := leaseOne(t, f)
	if l.URL != want {
		t.Fatalf("got %s; want %s", l.URL, want)
	}
	return l
}

// TestRefreshReadsEachPageOnce: pages behind cookie walls of any length and pages that moved are read once in a first pass, which meets
// their URLs as links and in any order, and once in each pass of a requeue, whether the cookies are still there or not.
func TestRefreshReadsEachPageOnce(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f := openKeep(t, true, Options{Delay: -1, MaxInFlight: -1})
		next := map[string]string{} // where a URL redirects to
		wall := map[string]string{} // the last step of a cookie wall, which sets the cookie, by page
		cookies, read := map[string]bool{}, map[string]int{}
		var links []Link
		chain := func(urls ...string) {
			for i, url := range urls {
				if links = append(links, Link{URL: url}); i > 0 {
					next[urls[i-1]] = url
				}
			}
		}
		for n := range 12 {
			url := func(what string) string { return fmt.Sprintf("http://h%d.example/%s/%d", rnd.IntN(3), what, n) }
			chain(url("old"), url("mid"), url("new"))
			steps := []string{url("page")}
			for i := range 1 + n%4 {
				steps = append(steps, url(fmt.Sprint("set", i)))
			}
			chain(steps...)
			wall[steps[0]] = steps[len(steps)-1]
			next[wall[steps[0]]] = steps[0]
		}
		rnd.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		fetch := func(l *Lease) {
			to, moved := next[l.URL]
			if step, ok := wall[l.URL]; ok && cookies[step] {
				moved = false
			}
			if !moved {
				read[l.URL]++
				must(t, f.Done(bg, l))
				return
			}
			cookies[l.URL] = true
			_, err := f.Redirect(bg, l, to)
			must(t, err)
		}
		for pass := range 3 {
			clear(read)
			if pass == 0 {
				addAll(t, f, links[:len(links)*int(seed%3)/2]...)
				addAll(t, f, links...)
			} else if _, _, err := f.Change(bg, Query{States: []QueryState{StateDone}, FetchedBefore: time.Now().Add(time.Hour)}, ActionRequeue); err != nil {
				t.Fatal(err)
			}
			if pass == 1 {
				clear(cookies)
			}
			for leases := leaseUpTo(t, f, 1+rnd.IntN(5)); len(leases) > 0; leases = leaseUpTo(t, f, 1+rnd.IntN(5)) {
				rnd.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
				for _, l := range leases {
					fetch(l)
				}
			}
			for _, l := range links {
				_, moved := next[l.URL]
				if want := wall[l.URL] != "" || !moved; (read[l.URL] == 1) != want || !want && read[l.URL] > 0 {
					t.Errorf("seed %d, pass %d: read %s %d times", seed, pass, l.URL, read[l.URL])
				}
			}
		}
	}
}

// TestLookupSaysThatAURLRedirected tells of a URL that is done whether it redirected, and where to, until it is fetched again.
func TestLookupSaysThatAURLRedirected(t *testing.T) {
	f := openKeep(t, true, Options{Delay: -1})
	source := Link{URL: "http://a.example/"}
	is := func(what string, redirected bool, to string) {
		t.Helper()
		if e, err := f.Lookup(bg, source); err != nil || e.Redirected != redirected || e.RedirectedTo != to || e.Reason != "" {
			t.Errorf("%s: got %v, %q, reason %q, %v; want %v, %q", what, e.Redirected, e.RedirectedTo, e.Reason, err, redirected, to)
		}
	}
	addOne(t, f, source)
	is("queued", false, "")
	_, err := f.Redirect(bg, leaseOne(t, f), "http://b.example/x")
	must(t, err)
	is("redirected", true, "http://b.example/x")
	must(t, f.Done(bg, leaseOne(t, f)))
	_, err = f.Put(bg, []Known{{Link: source, Outcome: Retry, Next: time.Now().Add(-time.Second)}})
	must(t, err)
	must(t, f.Done(bg, leaseOne(t, f)))
	is("read", false, "")
	source.Force = true
	addOne(t, f, source)
	_, err = f.Settle(bg, []Settlement{{Lease: leaseOne(t, f), Outcome: Redirected}})
	must(t, err)
	is("redirected to a page that its client knows", true, "")
	addOne(t, f, source)
	is("forced", false, "")
	must(t, f.Done(bg, leaseOne(t, f)))
	is("read again", false, "")
}

func TestRedirectChainsAreBounded(t *testing.T) {
	for name, target := range map[string]func(i int) string{
		"other pages": func(i int) string { return fmt.Sprintf("http://a.example/%d", i) },
		"same page":   func(i int) string { return fmt.Sprintf("http://a.example/#%d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			f := openKeep(t, true, Options{Delay: -1, tuning: tuning{maxRedirects: 3}})
			addOne(t, f, Link{URL: "http://a.example/"})
			l := leaseOne(t, f)
			for i := 1; i <= 3; i++ {
				r, err := f.Redirect(bg, l, target(i))
				must(t, err)
				if l = r.Follow; l == nil {
					l = leaseOne(t, f)
				}
			}
			r, err := f.Redirect(bg, l, target(4))
			if err != nil || r.Follow != nil || r.Target.Status != StatusRefused || r.Target.Reason != ReasonRedirects {
				t.Errorf("got %+v, %v; want the chain refused", r, err)
			}
			_, _ = f.Redirect(bg, l, target(4)) // its answer was lost
			if got := slices.Collect(f.Refusals()); len(got) != 1 || got[0].Count != 1 {
				t.Errorf("got refusals %+v; want one", got)
			}
			leaseNone(t, f)
			if stats, err := f.Stats(bg, ""); err != nil || stats.Held != 0 || stats.Dropped != 1 {
				t.Errorf("got %+v, %v; want nothing held, and the end of the chain dropped", stats, err)
			}
		})
	}
}

func TestRedirectToWhatIsRefusedEndsTheLease(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example/"})
	l := leaseOne(t, f)
	r, err := f.Redirect(bg, l, "itms://store.example/")
	if err != nil || r.Target.Reason != ReasonScheme {
		t.Errorf("got %+v, %v; want refused for its scheme", r, err)
	}
	if _, err := f.Redirect(bg, l, "http://a.example/#x"); !errors.Is(err, ErrStale) {
		t.Errorf("got %v; want ErrStale: the lease is over", err)
	}
}

// TestRedirectWithinAnExcludedPage: a page that was excluded while it was leased is forgotten, and new when the rule is gone.
func TestRedirectWithinAnExcludedPage(t *testing.T) {
	f := openKeep(t, true, Options{Delay: -1, Logger: onDrop(func(dropped) {})})
	addOne(t, f, Link{URL: "http://a.example/x"})
	l := leaseOne(t, f)
	_, err := f.Exclude(bg, "", "a.example/x")
	must(t, err)
	if r, err := f.Redirect(bg, l, "http://A.example/x#top"); err != nil || r.Target.Reason != ReasonExcluded {
		t.Errorf("got %+v, %v; want refused as excluded", r, err)
	}
	_, err = f.Include(bg, "", "a.example/x")
	must(t, err)
	if r := addOne(t, f, Link{URL: "http://a.example/x"}); r.Status != StatusNew {
		t.Errorf("got %v; want new", r.Status)
	}
}

// unreadable is a store in which the frontier's data of every URL that is done is damaged.
type unreadable struct{ store.Store }

func (s *unreadable) Lookup(ctx context.Context, crawl string, keys []store.Key) ([]store.Entry, error) {
	entries, err := s.Store.Lookup(ctx, crawl, keys)
	for i := range entries {
		if entries[i].State == store.Done {
			entries[i].Meta = []byte{4, 200, 'a'}
		}
	}
	return entries, err
}

// TestRedirectToADamagedTarget: a target whose data cannot be read is a duplicate, and its source ends.
func TestRedirectToADamagedTarget(t *testing.T) {
	f := openOn(t, &unreadable{memstore.New(memstore.Options{KeepURLs: true})}, Options{Delay: -1})
	must(t, doneAtOnce(f, Link{URL: "http://b.example/"}))
	addOne(t, f, Link{URL: "http://a.example/"})
	if r, err := f.Redirect(bg, leaseOne(t, f), "http://b.example/"); err != nil || r.Target.Status != StatusDuplicate {
		t.Errorf("got %+v, %v; want a duplicate", r, err)
	}
}

// TestRedirectThatDoesNotCount: a report that is stale, in each way that one can be, does not queue a page of its chain again, as one that
// counts does; of a URL that is done it queues nothing at all.
func TestRedirectThatDoesNotCount(t *testing.T) {
	for _, wire := range []bool{false, true} {
		f := openKeep(t, true, Options{Delay: -1})
		addOne(t, f, Link{URL: "http://a.example/"})
		first := leaseOne(t, f)
		_, err := f.Redirect(bg, first, "http://b.example/")
		must(t, err)
		back := leaseOne(t, f)
		if wire {
			back = &Lease{Crawl: back.Crawl, Key: back.Key, Token: back.Token}
		}
		never := *back
		never.Token += 1000
		refused := func(what string, l *Lease, target string) {
			t.Helper()
			before, err := f.Stats(bg, "")
			must(t, err)
			if _, err := f.Redirect(bg, l, target); !errors.Is(err, ErrStale) && !errors.Is(err, ErrAlreadyDone) {
				t.Errorf("%s: got %v; want the report refused", what, err)
			}
			if after, err := f.Stats(bg, ""); err != nil || after != before {
				t.Errorf("%s: got %+v, %v; want %+v", what, after, err, before)
			}
		}
		refused("a token that was never granted", &never, "http://a.example/")
		_, err = f.Redirect(bg, back, "http://a.example/")
		must(t, err)
		refused("the report again", back, "http://a.example/")
		must(t, f.Done(bg, nextOf(t, f, "http://a.example/")))
		refused("the report once more", back, "http://a.example/")
		refused("the same, to another page", back, "http://c.example/")
		leaseNone(t, f)
	}
}

// TestLateRedirects: a redirect that comes late counts as a page would, where the URL was dropped since too, and one of a lease that was
// overtaken ends that lease.
func TestLateRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Delay: -1})
		addOne(t, f, Link{URL: "http://a.example/"})
		first := leaseOne(t, f)
		time.Sleep(time.Hour)
		second := leaseOne(t, f)
		must(t, f.Done(bg, first))
		if _, err := f.Redirect(bg, second, "http://b.example/"); !errors.Is(err, ErrAlreadyDone) {
			t.Errorf("got %v; want the answer that any other outcome gets", err)
		}
		if st, err := f.Stats(bg, ""); err != nil || st.InFlight != 0 || st.Seen != 1 {
			t.Errorf("got %+v, %v; want nothing in flight, and no target", st, err)
		}
		addOne(t, f, Link{URL: "http://c.example/"})
		first = leaseOne(t, f)
		time.Sleep(time.Hour)
		must(t, f.Drop(bg, leaseOne(t, f)))
		if r, err := f.Redirect(bg, first, "http://d.example/"); err != nil || r.Target.Status != StatusNew {
			t.Errorf("got %+v, %v; want the target queued", r, err)
		}
		must(t, f.Done(bg, nextOf(t, f, "http://d.example/")))
		leaseNone(t, f)
	})
}

// TestLateRecrawlWaitsForTheOtherHolder: a URL is leased to one client at a time, also where a late result has queued it again.
func TestLateRecrawlWaitsForTheOtherHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Delay: -1, MaxInFlight: -1, Lease: time.Minute})
		addOne(t, f, Link{URL: "http://a.example/"})
		first := leaseOne(t, f)
		time.Sleep(time.Hour)
		leaseOne(t, f)
		must(t, f.Recrawl(bg, first, time.Time{}))
		time.Sleep(59 * time.Second)
		leaseNone(t, f)
		time.Sleep(2 * time.Second)
		leaseOne(t, f)
	})
}

// TestRedirectIntoAFullQueue: a page whose redirect finds no room is not lost.
func TestRedirectIntoAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxPerQueue: 1})
		addAll(t, f, Link{URL: "http://b.example/other"}, Link{URL: "http://a.example/"})
		var source, other *Lease
		for range 2 {
			if l := leaseOne(t, f); l.Queue == "a.example" {
				source = l
			} else {
				other = l
			}
		}
		r, err := f.Redirect(bg, source, "http://b.example/")
		if err != nil || r.Target.Reason != ReasonFull {
			t.Fatalf("got %+v, %v; want the target refused", r, err)
		}
		must(t, f.Done(bg, other))
		time.Sleep(time.Hour)
		if source = nextOf(t, f, "http://a.example/"); source.Deferrals != 1 || source.Failures != 0 {
			t.Errorf("got %+v; want it deferred once", source)
		}
		_, err = f.Redirect(bg, source, "http://b.example/")
		must(t, err)
		nextOf(t, f, "http://b.example/")
	})
}

// TestRedirectBackBeyondALimit: a target that led here, and is beyond a limit by now, is refused and counted. As a duplicate it would be lost unseen.
func TestRedirectBackBeyondALimit(t *testing.T) {
	for _, keep := range []bool{true, false} {
		f := openKeep(t, keep, Options{Delay: -1, MaxInFlight: -1})
		addOne(t, f, Link{URL: "http://a.example/wall/x/y/z"})
		_, err := f.Redirect(bg, leaseOne(t, f), "http://a.example/page")
		must(t, err)
		f.opt.Traps.PathDepth = 3
		if r, err := f.Redirect(bg, leaseOne(t, f), "http://a.example/wall/x/y/z"); err != nil || r.Target.Status != StatusRefused || r.Target.Reason == "" {
			t.Errorf("texts kept %v: got %+v, %v; want the target refused", keep, r, err)
		}
	}
}
