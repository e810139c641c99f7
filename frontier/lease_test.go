package frontier

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

func TestHostsInTurnEachInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1})
		for i := range 3 {
			for _, h := range []string{"a", "b", "c"} {
				addOne(t, f, Link{URL: fmt.Sprintf("http://%s.example/%d", h, i)})
			}
		}
		var got []string
		for l, err := range f.Leases(bg) {
			must(t, err)
			got = append(got, l.URL[7:8]+l.URL[len(l.URL)-1:])
			must(t, f.Done(bg, l))
		}
		if want := []string{"a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"}; !slices.Equal(got, want) {
			t.Errorf("got %q; want %q", got, want)
		}
	})
}

func TestPriorityThenDueThenArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1})
		now := time.Now()
		for _, u := range []Link{
			{URL: "http://a.example/3"}, {URL: "http://a.example/4"},
			{URL: "http://a.example/2", Due: now.Add(-time.Hour)},
			{URL: "http://a.example/5", Priority: 7, Due: now.Add(time.Hour)},
			{URL: "http://a.example/1", Priority: 7},
		} {
			addOne(t, f, u)
		}
		for i := 1; i <= 5; i++ {
			l, err := f.Next(bg)
			must(t, err)
			if want := fmt.Sprintf("http://a.example/%d", i); l.URL != want {
				t.Errorf("got %s; want %s", l.URL, want)
			}
			must(t, f.Done(bg, l))
		}
		if waited := time.Since(now); waited != time.Hour {
			t.Errorf("waited %v; want 1h: the last was due then", waited)
		}
	})
}

func TestDelayAndInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: 250 * time.Millisecond, MaxInFlight: 2})
		for i := range 4 {
			addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
		}
		start := time.Now()
		first, err := f.Next(bg)
		must(t, err)
		leaseNone(t, f)
		if _, err = f.Next(bg); err != nil || time.Since(start) != 250*time.Millisecond {
			t.Fatalf("second after %v, %v; want after 250ms", time.Since(start), err)
		}
		time.AfterFunc(time.Second, func() { must(t, f.Done(bg, first)) })
		if _, err = f.Next(bg); err != nil || time.Since(start) != 1250*time.Millisecond {
			t.Fatalf("third after %v, %v; want when the first was done: two in flight is the most", time.Since(start), err)
		}
	})
}

func TestQueueSettingsGoBeforeOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: time.Minute})
		none, many := time.Duration(-1), 5
		must(t, f.Configure(bg, "", "a.example", store.QueueChange{Delay: &none, MaxInFlight: &many}))
		for i := range 3 {
			addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
			leaseOne(t, f)
		}
	})
}

func TestAdaptiveDelayFollowsFetchTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: time.Second, Adaptive: 2, tuning: tuning{maxAdaptive: 10 * time.Second}})
		for i := range 4 {
			addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
		}
		for _, tt := range []struct{ took, started, want time.Duration }{
			{took: 3 * time.Second, want: 6 * time.Second},
			{took: time.Minute, want: 10 * time.Second},
			{took: time.Minute, started: 59 * time.Second, want: 2 * time.Second},
		} {
			l, err := f.Next(bg)
			must(t, err)
			l.Started = l.Started.Add(tt.started)
			time.Sleep(tt.took)
			must(t, f.Done(bg, l))
			end := time.Now()
			next, err := f.Next(bg)
			must(t, err)
			if waited := time.Since(end); waited != tt.want {
				t.Errorf("after a fetch of %v begun at %v: waited %v; want %v", tt.took, tt.started, waited, tt.want)
			}
			must(t, f.Release(bg, next))
			time.Sleep(time.Minute)
		}
	})
}

func TestRetryBacksOffAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, RetryAfter: time.Minute, Attempts: 4, tuning: tuning{maxBackOff: 3 * time.Minute}})
		addOne(t, f, Link{URL: "http://a.example/"})
		var waits []time.Duration
		for {
			l, err := f.Next(bg)
			must(t, err)
			failed := time.Now()
			again, err := f.Retry(bg, l, time.Time{})
			must(t, err)
			if !again {
				break
			}
			next, err := f.Next(bg)
			must(t, err)
			waits = append(waits, time.Since(failed))
			must(t, f.Release(bg, next)) // no failure
		}
		if want := []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute}; !slices.Equal(waits, want) {
			t.Errorf("waited %v; want %v", waits, want)
		}
		if e, err := f.Lookup(bg, Link{URL: "http://a.example/"}); err != nil || e.State != store.SeenOnly {
			t.Errorf("got %v, %v; want the URL seen and no longer held", e.State, err)
		}
	})
}

func TestBackoffWait(t *testing.T) {
	o := Options{RetryAfter: 10 * time.Second, tuning: tuning{maxBackOff: time.Minute}}
	for attempts, want := range []time.Duration{10, 10, 20, 40, 60, 60} {
		if got := o.backOff(attempts); got != want*time.Second {
			t.Errorf("after %d attempts: got %v; want %v", attempts, got, want*time.Second)
		}
	}
	if o.backOff(1<<30) != time.Minute {
		t.Error("got more than the bound after many attempts")
	}
}

func TestRetryAfterBlocksTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1})
		addAll(t, f, Link{URL: "http://a.example/1"}, Link{URL: "http://a.example/2"})
		until := time.Now().Add(time.Hour)
		again, err := retryBlocking(f, leaseOne(t, f), until)
		if err != nil || !again {
			t.Fatalf("got %v, %v; want another attempt", again, err)
		}
		if _, err := f.Next(bg); err != nil || !time.Now().Equal(until) {
			t.Errorf("got one at %v, %v; want none of the queue before %v", time.Now(), err, until)
		}
	})
}

func TestLateDoneIsAcceptedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, Lease: time.Minute})
		addOne(t, f, Link{URL: "http://a.example/"})
		late := leaseOne(t, f)
		time.Sleep(2 * time.Minute)
		must(t, f.Done(bg, late))
		if err := f.Done(bg, late); !errors.Is(err, ErrStale) {
			t.Errorf("got %v the second time; want ErrStale", err)
		}
		leaseNone(t, f)
	})
}

func TestExpiredLeaseIsHandedOutAgainAndItsHolderMayBeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, Lease: time.Minute})
		addOne(t, f, Link{URL: "http://a.example/", Meta: []byte("mine"), Depth: 3})
		first, start := leaseOne(t, f), time.Now()
		second, err := f.Next(bg)
		must(t, err)
		if time.Since(start) != time.Minute || second.Attempts != 2 || string(second.Meta) != "mine" || second.Depth != 3 {
			t.Errorf("got %+v after %v; want the same after 1m, attempt 2", second, time.Since(start))
		}
		_, errRetry := f.Retry(bg, first, time.Time{})
		for name, err := range map[string]error{"drop": f.Drop(bg, first), "extend": extend(f, first, time.Time{}), "retry": errRetry, "release": f.Release(bg, first)} {
			if !errors.Is(err, ErrStale) || errors.Is(err, ErrAlreadyDone) {
				t.Errorf("%s: got %v; want ErrStale", name, err)
			}
		}
		must(t, f.Done(bg, first)) // it has the page
		if err := f.Done(bg, second); !errors.Is(err, ErrAlreadyDone) || !errors.Is(err, ErrStale) {
			t.Errorf("got %v; want ErrAlreadyDone", err)
		}
		if st, err := f.Stats(bg, ""); err != nil || st.Completed != 1 || st.Fetched != 1 || st.InFlight != 0 {
			t.Errorf("got %+v, %v; want the page counted once", st, err)
		}
	})
}

func TestExtendHoldsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, Lease: time.Minute})
		addOne(t, f, Link{URL: "http://a.example/"})
		l, start := leaseOne(t, f), time.Now()
		time.Sleep(50 * time.Second)
		must(t, extend(f, l, time.Time{}))
		if _, err := f.Next(bg); err != nil || time.Since(start) != 110*time.Second {
			t.Errorf("handed out again after %v, %v; want 1m50s", time.Since(start), err)
		}
	})
}

func TestRecrawlAtATimeWithNewMeta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, Attempts: 1})
		addOne(t, f, Link{URL: "http://a.example/", Meta: []byte("etag 1"), Depth: 2})
		l, at, prio := leaseOne(t, f), time.Now().Add(24*time.Hour), uint8(5)
		answers, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: Recrawl, At: at, Meta: []byte("etag 2"), Priority: &prio}})
		if err != nil || answers[0] != OK {
			t.Fatalf("got %v, %v; want ok", answers, err)
		}
		again, err := f.Next(bg)
		must(t, err)
		if !time.Now().Equal(at) || string(again.Meta) != "etag 2" || again.Depth != 2 || again.Priority != 5 || again.Attempts != 1 {
			t.Errorf("got %+v at %v; want it at %v with new data and attempts counted anew", again, time.Now(), at)
		}
	})
}

// TestRecrawlByObservedChange: a recrawl without a time comes the sooner the more often the page changed, within bounds.
func TestRecrawlByObservedChange(t *testing.T) {
	const changed, same, unknown, latest = 200, http.StatusNotModified, 0, 4 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, RecrawlLatest: latest})
		addOne(t, f, Link{URL: "http://a.example/"})
		for i, step := range []struct {
			status int
			want   time.Duration
		}{
			{changed, 2 * time.Hour}, {same, 150 * time.Minute}, {unknown, 150 * time.Minute}, {changed, time.Hour}, {same, 75 * time.Minute},
			{same, 93*time.Minute + 45*time.Second}, {changed, time.Hour}, {changed, time.Hour}, {same, 75 * time.Minute}, {same, 93*time.Minute + 45*time.Second},
		} {
			l, start := leaseOne(t, f), time.Now()
			if i%2 == 1 { // a client's lease has its name and token alone
				l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
			}
			_, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: Recrawl, Fetched: &Fetched{Status: step.status}}})
			must(t, err)
			again, err := f.Next(bg)
			must(t, err)
			if got := time.Since(start); got != step.want {
				t.Errorf("step %d, status %d: due after %v; want %v", i, step.status, got, step.want)
			}
			must(t, f.Release(bg, again))
		}
		time.Sleep(24 * time.Hour) // the page waits for its fetcher for longer than the bound
		l, start := leaseOne(t, f), time.Now()
		_, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: Recrawl, Fetched: &Fetched{Status: same}}})
		must(t, err)
		l, err = f.Next(bg)
		if must(t, err); time.Since(start) != latest {
			t.Errorf("due after %v; want %v", time.Since(start), latest)
		}
		at := time.Now().Add(time.Minute)
		must(t, f.Recrawl(bg, l, at))
		if _, err := f.Next(bg); err != nil || !time.Now().Equal(at) {
			t.Errorf("due at %v, %v; want the time that was asked for, %v", time.Now(), err, at)
		}
	})
}

func TestLeaseFromOneQueueAndSettleInBatch(t *testing.T) {
	f := open(t, Options{Delay: -1, MaxInFlight: -1})
	for i := range 5 {
		addAll(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i), Crawl: "c"}, Link{URL: fmt.Sprintf("http://b.example/%d", i)})
	}
	leases, _, err := f.Lease(bg, LeaseRequest{Crawl: "c", Queue: "a.example", Max: 4, MaxPerQueue: 4})
	must(t, err)
	var settle []Settlement
	for _, l := range leases {
		if l.Queue != "a.example" || l.Crawl != "c" {
			t.Errorf("got %s of %s; want only what was asked for", l.URL, l.Crawl)
		}
		// What travelled by wire has a name and a token alone.
		settle = append(settle, Settlement{Lease: &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}})
	}
	other := leaseOne(t, f)
	settle = append(settle, Settlement{Lease: other, Outcome: Drop}, settle[0])
	answers, err := f.Settle(bg, settle)
	if want := []Settled{OK, OK, OK, OK, OK, Stale}; err != nil || !slices.Equal(answers, want) {
		t.Errorf("got %v, %v; want %v", answers, err, want)
	}
	if _, _, err := f.Lease(bg, LeaseRequest{Crawl: "*", Queue: "a.example"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v; want ErrInvalid for a queue of no one crawl", err)
	}
}

func TestLimitStopsAQueue(t *testing.T) {
	f, limit := open(t, Options{Delay: -1}), int64(2)
	must(t, f.Configure(bg, "*", "", store.QueueChange{Limit: &limit}))
	for i := range 4 {
		addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
	}
	must(t, f.Done(bg, leaseOne(t, f)))
	must(t, f.Done(bg, leaseOne(t, f)))
	leaseNone(t, f)
}

func TestLeaseByItsTokenAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, RetryAfter: time.Minute, Attempts: 2})
		addOne(t, f, Link{URL: "http://a.example/", Depth: 3, Meta: []byte("m")})
		for attempt, want := range []bool{true, false} {
			l, err := f.Next(bg)
			must(t, err)
			if l.Depth != 3 || (attempt == 1) != (string(l.Meta) == "new") {
				t.Errorf("got %+v; want depth 3, and the data of the settlement before", l)
			}
			wire := &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
			answers, err := f.Settle(bg, []Settlement{{Lease: wire, Outcome: Retry, Meta: []byte("new")}})
			if err != nil || (answers[0] == OK) != want {
				t.Errorf("attempt %d: got %v, %v; want another one: %v", attempt+1, answers, err, want)
			}
			if answers, err := f.Settle(bg, []Settlement{{Lease: wire, Outcome: Retry}}); err != nil || answers[0] != Stale {
				t.Errorf("got %v, %v the second time; want stale", answers, err)
			}
		}
	})
}

func TestRetryAfterNeverShortensABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1})
		addOne(t, f, Link{URL: "http://a.example/"})
		l, long := leaseOne(t, f), time.Now().Add(24*time.Hour)
		must(t, block(f, "", "a.example", long))
		_, err := retryBlocking(f, l, time.Now().Add(time.Minute))
		must(t, err)
		if _, err := f.Next(bg); err != nil || !time.Now().Equal(long) {
			t.Errorf("got one at %v, %v; want none before %v", time.Now(), err, long)
		}
	})
}

// TestOneSettleKeepsTheLongerBlock settles two leases of a queue together, the second
// by its name and token alone.
func TestOneSettleKeepsTheLongerBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxInFlight: 2})
		addAll(t, f, Link{URL: "http://a.example/1"}, Link{URL: "http://a.example/2"})
		a, b := leaseOne(t, f), leaseOne(t, f)
		b = &Lease{Crawl: b.Crawl, Key: b.Key, Token: b.Token}
		hour, minute := time.Now().Add(time.Hour), time.Now().Add(time.Minute)
		_, err := f.Settle(bg, []Settlement{
			{Lease: a, Outcome: Retry, At: hour, BlockQueue: hour}, {Lease: b, Outcome: Retry, At: minute, BlockQueue: minute}})
		must(t, err)
		if _, err := f.Next(bg); err != nil || !time.Now().Equal(hour) {
			t.Errorf("got one at %v, %v; want none before %v", time.Now(), err, hour)
		}
	})
}

// TestQuickFetchDoesNotCutTheWaitOfASlowOne ends a short fetch after a long one.
func TestQuickFetchDoesNotCutTheWaitOfASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, MaxInFlight: 3, Adaptive: 1})
		for i := range 3 {
			addOne(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
		}
		slow, quick := leaseOne(t, f), leaseOne(t, f)
		time.Sleep(20 * time.Second)
		must(t, f.Done(bg, slow))
		end := time.Now()
		quick.Started = end
		time.Sleep(10 * time.Millisecond)
		must(t, f.Done(bg, quick))
		if _, err := f.Next(bg); err != nil || time.Since(end) != 20*time.Second {
			t.Errorf("got one after %v, %v; want it 20 s after the slow fetch", time.Since(end), err)
		}
	})
}

// TestSettleRefusesWhatItCannotMean: of a batch with such a settlement nothing is settled.
func TestSettleRefusesWhatItCannotMean(t *testing.T) {
	f := open(t, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example/"})
	l := leaseOne(t, f)
	for what, s := range map[string]Settlement{"no lease": {Outcome: Done}, "an unknown outcome": {Lease: l, Outcome: Redirected + 1}, "an unknown priority": {Lease: l, Outcome: Release, Priority: new(uint8(8))}, "no status": {Lease: l, Outcome: Retry, Fetched: &Fetched{Status: 1 << 31}}, "an invalid crawl": {Lease: &Lease{Crawl: "a|exact"}}} {
		if _, err := f.Settle(bg, []Settlement{{Lease: l}, s}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: got %v; want ErrInvalid", what, err)
		}
	}
	for what, err := range map[string]error{"Done": f.Done(bg, nil), "Drop": f.Drop(bg, nil), "Redirect": errorOf(f.Redirect(bg, nil, "http://b.example/")),
		"Add": errorOf(f.AddBatch(bg, []Link{{URL: "http://b.example/"}, {URL: "http://b.example/2", Priority: 8}})), "See": errorOf(f.See(bg, []Link{{URL: "http://b.example/", Priority: 200}})),
		"Put": errorOf(f.Put(bg, []Known{{Link: Link{URL: "http://b.example/", Priority: 9}}})), "deep": errorOf(f.AddBatch(bg, []Link{{URL: "http://b.example/", Depth: 1 << 31}})),
		"of no status": errorOf(f.Put(bg, []Known{{Link: Link{URL: "http://b.example/"}, Outcome: Retry, Fetched: &Fetched{Status: -1}}})),
		"above a seed": errorOf(f.AddBatch(bg, []Link{{URL: "http://b.example/", Depth: -1}}))} {
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: got %v; want ErrInvalid", what, err)
		}
	}
	if _, err := f.Lookup(bg, Link{URL: "http://b.example/"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v; want nothing stored of a batch with an invalid priority", err)
	}
	must(t, f.Done(bg, l))
}

// TestDamagedURLIsNotLeased: a URL whose record cannot be read keeps no other from being handed out.
func TestDamagedURLIsNotLeased(t *testing.T) {
	s := memstore.New(memstore.Options{})
	f := openOn(t, s, Options{Delay: -1})
	addOne(t, f, Link{URL: "http://a.example/", Depth: math.MaxInt32})
	_, err := s.Add(bg, store.DefaultCrawl, []store.Item{{Key: store.Key{1}, Queue: "b.example", URL: "http://b.example/", Meta: []byte{hasDepth, 0xff, 0xff, 0xff, 0xff, 0x0f}}}, store.AddOptions{})
	must(t, err)
	leases, _, err := f.Lease(bg, LeaseRequest{Max: 10, MaxQueues: 10})
	if err != nil || len(leases) != 1 || leases[0].Depth != math.MaxInt32 {
		t.Fatalf("got %v, %v; want the one that is whole", leases, err)
	}
	if st, err := f.Stats(bg, ""); err != nil || st.Held != 1 || st.Dropped != 1 {
		t.Errorf("got %+v, %v; want the other one dropped", st, err)
	}
	if r := slices.Collect(f.Refusals()); len(r) != 1 || r[0].Reason != ReasonDamaged || !r[0].Dropped || r[0].Count != 1 {
		t.Errorf("got %+v; want it counted", r)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// TestEachEndOfALeaseHasItsOwnBound ends leases in each way that brings no result, in every order: a count
// grows by its own outcome alone, and drops the URL at its own bound.
func TestEachEndOfALeaseHasItsOwnBound(t *testing.T) {
	bounds := Options{Delay: -1, Lease: time.Minute, Attempts: 3, MaxDeferred: 4, MaxReleased: 5, MaxExpired: 6}
	ends := []struct {
		bound  int
		reason Reason
		end    func(f *Frontier, l *Lease) Settlement
	}{
		{3, ReasonAttempts, func(_ *Frontier, l *Lease) Settlement { return Settlement{Lease: l, Outcome: Retry, At: time.Now()} }},
		{4, ReasonDeferred, func(_ *Frontier, l *Lease) Settlement {
			return []Settlement{{Lease: l, Outcome: Defer, At: time.Now()}, {Lease: l, Outcome: Retry, At: time.Now(), Fetched: &Fetched{Status: 503}},
				{Lease: l, Outcome: Retry, At: time.Now(), Fetched: &Fetched{Status: 429}}, {Lease: l, Outcome: Retry, At: time.Now(), BlockQueue: time.Now()}}[l.Attempts%4]
		}},
		{5, ReasonReleased, func(_ *Frontier, l *Lease) Settlement { return Settlement{Lease: l, Outcome: Release} }},
		{6, ReasonExpired, nil},
	}
	for last := range ends {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(last)))
			f := openKeep(t, true, bounds)
			addOne(t, f, Link{URL: "http://a.example/", Depth: 1})
			var todo []int
			for i := range ends {
				for range ends[i].bound - 1 {
					todo = append(todo, i)
				}
			}
			rnd.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
			var counts [4]int
			for _, i := range append(todo, last) {
				l := leaseOne(t, f)
				if got := [4]int{l.Failures, l.Deferrals, l.Releases, l.Expiries}; got != counts || l.Attempts != 1+counts[0]+counts[1]+counts[2]+counts[3] || l.Depth != 1 {
					t.Fatalf("got %v of %d attempts; want %v", got, l.Attempts, counts)
				}
				if rnd.IntN(2) == 0 { // made again from the wire
					l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token, Expires: l.Expires, Attempts: l.Attempts}
				}
				counts[i]++
				if ends[i].end == nil {
					time.Sleep(time.Until(l.Expires))
					continue
				}
				answers, err := f.Settle(bg, []Settlement{ends[i].end(f, l)})
				must(t, err)
				if want := counts[i] == ends[i].bound; (answers[0] == GaveUp) != want {
					t.Fatalf("got %v for end %d after %v; want given up %v", answers[0], i, counts, want)
				}
			}
			leaseNone(t, f)
			e, err := f.Lookup(bg, Link{URL: "http://a.example/"})
			must(t, err)
			if got := [4]int{e.Failures, e.Deferrals, e.Releases, e.Expiries}; e.State != store.Dropped || got != counts || e.Reason != ends[last].reason {
				t.Errorf("got %v, %v, %q; want it dropped, %v, %q", e.State, got, e.Reason, counts, ends[last].reason)
			}
			for r := range f.Refusals() {
				if !r.Dropped || r.Reason != ends[last].reason || r.Count != 1 {
					t.Errorf("got %+v counted; want one dropped as %q", r, ends[last].reason)
				}
			}
			addOne(t, f, Link{URL: "http://a.example/", Force: true})
			if l := leaseOne(t, f); l.Attempts != 1 || l.Failures+l.Deferrals+l.Releases+l.Expiries != 0 {
				t.Errorf("got %+v; want the counts begun again", l)
			}
		})
	}
}
