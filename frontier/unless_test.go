package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestUnlessFetchedAfter tells a URL's life among offers that want it fetched again after a week: each age is one of the last fetch.
func TestUnlessFetchedAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const page, week, day = "http://a.example/", 7 * 24 * time.Hour, 24 * time.Hour
		f := openKeep(t, true, Options{Delay: -1, Attempts: 1})
		offer := func(what string, status Status, requeued, raised bool) {
			t.Helper()
			links := []Link{{URL: page}, {URL: page, UnlessFetchedAfter: time.Now().Add(-week), Depth: 3, Meta: []byte("m")}}
			got := addAll(t, f, links...)
			if r := got[1]; r.Status != status || r.Requeued != requeued || r.Raised != raised {
				t.Errorf("%s: got %+v; want status %v, requeued %v, raised %v", what, r, status, requeued, raised)
			}
			if r := got[0]; r.Requeued || r.Raised {
				t.Errorf("%s: got %+v of an offer that asks for nothing", what, r)
			}
		}
		lease := func() *Lease {
			t.Helper()
			leases, _, err := f.Lease(bg, LeaseRequest{})
			must(t, err)
			if len(leases) != 1 {
				t.Fatalf("got %d leases; want 1", len(leases))
			}
			return leases[0]
		}
		if r := addAll(t, f, Link{URL: page, UnlessFetchedAfter: time.Now()})[0]; r.Status != StatusNew {
			t.Errorf("got %+v of an unknown URL; want new", r)
		}
		time.Sleep(2 * week)
		offer("queued for weeks", StatusDuplicate, false, false)
		l := lease()
		offer("leased", StatusDuplicate, false, false)
		must(t, f.Done(bg, l))
		time.Sleep(week - day)
		offer("fetched days ago", StatusDuplicate, false, false)
		time.Sleep(day + time.Minute)
		offer("fetched a week ago", StatusDuplicate, true, false)
		offer("queued again", StatusDuplicate, false, false)
		l = lease()
		if l.Depth != 3 || string(l.Meta) != "m" || l.Attempts != 1 {
			t.Errorf("got depth %d, metadata %q, attempt %d; want those of the offer", l.Depth, l.Meta, l.Attempts)
		}
		_, err := f.Retry(bg, l, time.Time{}) // the last attempt
		must(t, err)
		time.Sleep(day)
		offer("dropped a day ago", StatusDuplicate, false, false)
		time.Sleep(week)
		offer("dropped a week ago", StatusDuplicate, true, false)
		must(t, f.Recrawl(bg, lease(), time.Now().Add(10*week)))
		time.Sleep(day)
		offer("scheduled a day ago", StatusDuplicate, false, false)
		time.Sleep(week)
		offer("scheduled a week ago", StatusDuplicate, false, true)
		l = lease()
		if !l.Created.Before(time.Now().Add(-week)) {
			t.Errorf("got created %v of a URL that is known for weeks", l.Created)
		}
		if _, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: Defer, At: time.Now().Add(10 * week)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * week)
		offer("put off by its host", StatusDuplicate, false, false)
	})
}

// TestOldLogOfAFreshPage checks that a log does not make a page older than its last fetch, which may have queued or dropped it.
func TestOldLogOfAFreshPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Delay: -1})
		began := time.Now()
		time.Sleep(240 * time.Hour)
		fresh, next := time.Now(), time.Now().Add(1000*time.Hour)
		for _, was := range []Outcome{Done, Recrawl, Drop} {
			for _, log := range []Known{{Outcome: Release}, {}, {Next: next}} {
				log.URL, log.At = fmt.Sprintf("http://a.example/%d/%d/%t", was, log.Outcome, log.Next.IsZero()), began
				addOne(t, f, log.Link)
				_, err := f.Settle(bg, []Settlement{{Lease: leaseOne(t, f), Outcome: was, At: next}})
				must(t, err)
				_, err = f.Put(bg, []Known{log})
				must(t, err)
				want := fresh
				if was == Recrawl && log.Next.IsZero() {
					want = began // it waited to be fetched again
				}
				if e, err := f.Lookup(bg, log.Link); err != nil || !e.Fetched.Equal(want) {
					t.Errorf("%s: got %v, %v; want %v", log.URL, e.Fetched, err, want)
				}
			}
		}
	})
}

// TestUnlessFetchedAfterWithoutTexts: a store that doesn't know when pages were fetched refuses these offers of pages that are done, and no others.
func TestUnlessFetchedAfterWithoutTexts(t *testing.T) {
	f := openKeep(t, false, Options{})
	addOne(t, f, Link{URL: "http://done.example/"})
	must(t, f.Done(bg, leaseOne(t, f)))
	addOne(t, f, Link{URL: "http://queued.example/"})
	for i := range 2 {
		fresh := fmt.Sprintf("http://new%d.example/", i)
		got := addAll(t, f, Link{URL: "http://done.example/", UnlessFetchedAfter: time.Now()}, Link{URL: fresh, UnlessFetchedAfter: time.Now()},
			Link{URL: fresh, UnlessFetchedAfter: time.Now()}, Link{URL: "http://queued.example/", UnlessFetchedAfter: time.Now()}, Link{URL: fresh + "plain"})
		if r := got[0]; r.Status != StatusRefused || r.Reason != ReasonNoTexts || !errors.Is(r.Err, store.ErrNoTexts) {
			t.Errorf("got %+v of a URL that is done; want it refused", r)
		}
		for i, want := range []Status{StatusNew, StatusDuplicate, StatusDuplicate, StatusNew} {
			if r := got[i+1]; r.Status != want {
				t.Errorf("%d: got %+v; want %v", i+1, r, want)
			}
		}
	}
	seen, err := f.See(bg, []Link{{URL: "http://b.example/", UnlessFetchedAfter: time.Now()}})
	must(t, err)
	if seen[0].Status != StatusNew {
		t.Errorf("got %+v of a URL that is only recorded; want new", seen[0])
	}
}

// TestRescheduleByFetchTime selects what was fetched before a time, whatever became of it since, and queues that again and nothing else.
func TestRescheduleByFetchTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openKeep(t, true, Options{Delay: -1, MaxInFlight: -1})
		began := time.Now()
		for _, age := range []string{"old", "new"} {
			for _, what := range []string{"done", "dropped", "recrawl", "moved"} {
				addOne(t, f, Link{URL: "http://a.example/" + age + "/" + what})
			}
			time.Sleep(time.Hour)
			leases, _, err := f.Lease(bg, LeaseRequest{Max: 9, MaxPerQueue: 9})
			must(t, err)
			for _, l := range leases {
				outcome := map[string]Outcome{"done": Done, "dropped": Drop, "recrawl": Recrawl, "moved": Redirected}[l.URL[len("http://a.example/new/"):]]
				_, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: outcome, At: time.Now().Add(1000 * time.Hour)}})
				must(t, err)
			}
		}
		addOne(t, f, Link{URL: "http://a.example/old/never"})
		found := func(q Query) (list []string) {
			t.Helper()
			for e, err := range f.Find(bg, q) {
				must(t, err)
				list = append(list, e.URL[len("http://a.example/"):])
			}
			slices.Sort(list)
			return list
		}
		noon := began.Add(90 * time.Minute)
		old := []string{"old/done", "old/dropped", "old/moved", "old/recrawl"}
		for _, c := range []struct {
			what string
			q    Query
			want []string
		}{
			{"before", Query{FetchedBefore: noon}, old},
			{"before, at the time", Query{FetchedBefore: began.Add(time.Hour)}, nil},
			{"then or later", Query{FetchedAfter: began.Add(2 * time.Hour)}, []string{"new/done", "new/dropped", "new/moved", "new/recrawl"}},
			{"between", Query{FetchedAfter: began, FetchedBefore: noon}, old},
			{"with a state", Query{FetchedBefore: noon, States: []QueryState{StateScheduled}}, []string{"old/recrawl"}},
			{"found before, fetched later", Query{Before: noon, FetchedAfter: noon}, []string{"new/done", "new/dropped", "new/moved", "new/recrawl"}},
		} {
			if got := found(c.q); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v; want %v", c.what, got, c.want)
			}
		}
		n, _, err := f.Change(bg, Query{FetchedBefore: noon, States: []QueryState{StateDone, StateScheduled}}, ActionRequeue)
		if err != nil || n != 3 {
			t.Errorf("got %d requeued, %v; want 3", n, err)
		}
		if got, want := found(Query{States: []QueryState{StateQueued}}), []string{"old/done", "old/moved", "old/never", "old/recrawl"}; !slices.Equal(got, want) {
			t.Errorf("got %v queued; want %v", got, want)
		}
	})
	bare := open(t, Options{Delay: -1})
	addOne(t, bare, Link{URL: "http://a.example/"})
	must(t, bare.Done(bg, leaseOne(t, bare)))
	if _, _, err := bare.Change(bg, Query{FetchedBefore: time.Now()}, ActionRequeue); !errors.Is(err, store.ErrNoTexts) {
		t.Errorf("got %v of a store without texts; want ErrNoTexts", err)
	}
}

// TestRetentionOfACrawl: a crawl with an age of its own forgets after that, counted from the last fetch, and no other crawl does.
func TestRetentionOfACrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		for _, seenFor := range []time.Duration{0, 100 * day} {
			f := openKeep(t, true, Options{Crawl: "*", Delay: -1, MaxInFlight: -1, SeenFor: seenFor})
			for _, crawl := range []string{"news", "books"} {
				addAll(t, f, Link{URL: "http://a.example/1", Crawl: crawl}, Link{URL: "http://a.example/2", Crawl: crawl})
			}
			retention := 8 * day
			must(t, f.Configure(bg, "news", "", store.QueueChange{Retention: &retention}))
			fetch := func(crawl string) {
				leases, _, err := f.Lease(bg, LeaseRequest{Crawl: crawl})
				must(t, err)
				must(t, f.Done(bg, leases[0]))
			}
			fetch("news")
			fetch("books")
			time.Sleep(6 * day)
			fetch("news")
			time.Sleep(4 * day)
			for crawl, want := range map[string]int64{"news": 1, "books": 2} {
				if st, err := f.Stats(bg, crawl); err != nil || st.Seen != want {
					t.Errorf("seen for %v: got %d URLs of %s, %v; want %d", seenFor, st.Seen, crawl, err, want)
				}
			}
			time.Sleep(10 * day)
			if st, err := f.Stats(bg, "news"); err != nil || st.Seen != 0 {
				t.Errorf("got %d URLs after their retention, %v; want 0", st.Seen, err)
			}
		}
	})
}

// damagedCrawl is a store that fails to forget in one crawl, and counts how often it was asked to in each.
type damagedCrawl struct {
	store.Store
	asked map[string]int
}

func (s damagedCrawl) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	if s.asked[sel.Crawl]++; sel.Crawl == "books" {
		return 0, store.ErrCorrupt
	}
	return s.Store.Forget(ctx, sel)
}

// TestSweepGoesOn: a crawl that can't be swept does not keep the others from it, in whatever order they come.
func TestSweepGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		s := damagedCrawl{memstore.New(memstore.Options{}), map[string]int{}}
		f, err := New(s, Options{Crawl: "*"})
		must(t, err)
		retention := 8 * day
		for _, crawl := range []string{"books", "maps", "news"} {
			_, err := f.See(bg, []Link{{URL: "http://a.example/", Crawl: crawl}})
			must(t, err)
			must(t, f.Configure(bg, crawl, "", store.QueueChange{Retention: &retention}))
		}
		time.Sleep(30 * day)
		for crawl, want := range map[string]int64{"books": 1, "maps": 0, "news": 0} {
			if st, err := f.Stats(bg, crawl); err != nil || st.Seen != want {
				t.Errorf("got %d URLs of %s, %v; want %d", st.Seen, crawl, err, want)
			}
		}
		must(t, f.Close())
		// Each setting begins a sweep of those that have theirs by then.
		if n := s.asked["books"]; n < 30 || n-s.asked["maps"] > 2 || n-s.asked["news"] > 2 {
			t.Errorf("got sweeps %v; want as many of each crawl", s.asked)
		}
	})
}
