package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// begin begins the steps of an add of URLs to crawl c, in one script, and does not deliver them.
func begin(t *testing.T, s *Store, opt store.AddOptions, items ...store.Item) *offering {
	t.Helper()
	o := unsent(s, "c", opt, items...)
	must(true, o.record(t.Context(), upTo(len(items))))(t)
	return o
}

// unsent returns an add that is not yet sent.
func unsent(s *Store, crawl string, opt store.AddOptions, items ...store.Item) *offering {
	w := &wave{s: s, crawl: crawl, opt: opt, items: items, marked: make([]bool, len(items)), verdicts: make([]store.Verdict, len(items)), room: waveSize}
	return &offering{wave: w, reported: map[int]report{}}
}

func keysOf(items []store.Item) []store.Key { return (&wave{items: items}).keys(upTo(len(items))) }

// outboxes returns how many fields the outboxes of crawl c have in the only shard.
func outboxes(t *testing.T, s *Store) (together, others int64) {
	t.Helper()
	id, redis := s.layout.bases[0], only(t, s)
	return must(redis.HLen(t.Context(), id+"o\x00\x00\x00\x01").Result())(t), must(redis.HLen(t.Context(), id+"p\x00\x00\x00\x01").Result())(t)
}

func wantOutboxes(t *testing.T, s *Store, together, others int64) {
	t.Helper()
	if a, b := outboxes(t, s); a != together || b != others {
		t.Fatalf("got %d fields of steps together and %d others; want %d and %d", a, b, together, others)
	}
}

func wantHeld(t *testing.T, s *Store, n int64) {
	t.Helper()
	if st := must(s.Stats(t.Context(), "c"))(t); st.Held != n || st.Seen != n {
		t.Fatalf("got %+v; want %d seen and held", st, n)
	}
}

func testItems(from, n int) (items []store.Item) {
	for i := range n {
		items = append(items, testItem(from+i, fmt.Sprint("q", (from+i)%3)))
	}
	return items
}

// TestStepsEndTogether ends all steps of an add at once, and of another add one, then two that do not all exist any more, late.
func TestStepsEndTogether(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	ctx := t.Context()
	o := begin(t, s, store.AddOptions{}, testItems(0, 3)...)
	wantOutboxes(t, s, 1, 0)
	wantHeld(t, s, 3)
	must(true, o.queue(ctx))(t)
	wantOutboxes(t, s, 0, 0)
	o = begin(t, s, store.AddOptions{}, testItems(3, 3)...)
	slow := append([]*step(nil), o.fresh[:2]...)
	must(true, s.deliver(ctx, "c", o.fresh[:1]))(t)
	wantOutboxes(t, s, 0, 2)
	must(true, s.deliver(ctx, "c", slow))(t)
	wantOutboxes(t, s, 0, 1)
	must(true, s.deliver(ctx, "c", slow))(t)
	wantOutboxes(t, s, 0, 1)
	must(true, s.sweep(ctx, 0))(t)
	wantOutboxes(t, s, 0, 0)
	wantHeld(t, s, 6)
	if n := len(must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 10, MaxPerQueue: 10}))(t).Leases); n != 6 {
		t.Fatalf("got %d leases; want 6", n)
	}
}

// TestSomeStepsEndTwice records two steps together, and ends one of them, after a first try that was cancelled: the other one stays.
func TestSomeStepsEndTwice(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	o := begin(t, s, store.AddOptions{}, testItems(0, 2)...)
	d := &delivery{s: s, crawl: "c", steps: o.fresh[:1]}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.end(ended); err == nil {
		t.Fatal("got no error of a call that was cancelled; want one")
	}
	wantOutboxes(t, s, 1, 0)
	o.fresh[0].failed = false
	must(true, d.end(t.Context()))(t)
	wantOutboxes(t, s, 0, 1)
}

// TestAStepTogetherIsFound has every operation meet a step that is recorded with others.
func TestAStepTogetherIsFound(t *testing.T) {
	t.Parallel()
	for name, meet := range map[string]func(s *Store, it store.Item) error{
		"lookup": func(s *Store, it store.Item) error {
			e, err := storetest.Lookup(t.Context(), s, "c", it.Key)
			if err == nil && e.URL != it.URL {
				err = fmt.Errorf("got URL %q; want %q", e.URL, it.URL)
			}
			return err
		},
		"force": func(s *Store, it store.Item) error {
			it.Force = true
			_, err := s.Add(t.Context(), "c", []store.Item{it}, store.AddOptions{})
			return err
		},
		"settle": func(s *Store, it store.Item) error {
			_, err := s.Settle(t.Context(), "c", []store.Settlement{{Key: it.Key, Outcome: store.Requeue}})
			return err
		},
		"sweep": func(s *Store, _ store.Item) error { return s.sweep(t.Context(), 0) },
		"add": func(s *Store, it store.Item) error {
			v, err := s.Add(t.Context(), "c", []store.Item{it}, store.AddOptions{WantFirst: true})
			if err == nil && (v[0].Status != store.Duplicate || v[0].First != it.URL) {
				err = fmt.Errorf("got %+v; want a duplicate of %s", v[0], it.URL)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, testOptions(sharedServer(t), 1))
			defer s.Close()
			items := testItems(0, 3)
			o := begin(t, s, store.AddOptions{}, items...)
			must(true, meet(s, items[1]))(t)
			must(true, o.queue(t.Context()))(t)
			wantOutboxes(t, s, 0, 0)
			wantHeld(t, s, 3)
		})
	}
	t.Run("forget", func(t *testing.T) {
		s := open(t, testOptions(sharedServer(t), 1))
		defer s.Close()
		items := testItems(0, 3)
		o := begin(t, s, store.AddOptions{}, items...)
		if n := must(s.Forget(t.Context(), store.Selection{Crawl: "c", Keys: []store.Key{items[1].Key}}))(t); n != 1 {
			t.Fatalf("got %d forgotten; want 1", n)
		}
		must(true, o.queue(t.Context()))(t)
		wantOutboxes(t, s, 0, 0)
		wantHeld(t, s, 2)
	})
}

// TestAnOutboxStaysSmall leaves more steps than are recorded together, and some that are too large: all are found, and finished.
func TestAnOutboxStaysSmall(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	ctx := t.Context()
	large := testItems(0, 3)
	for i := range large {
		large[i].Meta = []byte(strings.Repeat("m", 30_000))
	}
	begin(t, s, store.AddOptions{}, large...)
	wantOutboxes(t, s, 0, 3)
	for i := range 40 {
		begin(t, s, store.AddOptions{}, testItems(3+2*i, 2)...)
	}
	wantOutboxes(t, s, 32, 3+16)
	wantHeld(t, s, 83)
	again := begin(t, s, store.AddOptions{}, testItems(0, 83)...)
	for i, v := range again.verdicts {
		if v.Status != store.Duplicate {
			t.Fatalf("got %v for item %d; want a duplicate", v.Status, i)
		}
	}
	if len(again.pending) > 0 {
		t.Fatalf("got %d to be finished first; want none", len(again.pending))
	}
	must(true, s.sweep(ctx, time.Hour))(t)
	wantOutboxes(t, s, 32, 3+16)
	must(true, s.sweep(ctx, 0))(t)
	wantOutboxes(t, s, 0, 0)
	wantHeld(t, s, 83)
}

// TestListsOfLeases takes leases together, settles some and extends others: each of the rest runs out at its time. The lists of a
// crawl are deleted with its last lease.
func TestListsOfLeases(t *testing.T) {
	t.Parallel()
	s, at := openWithClock(t, 1)
	defer s.Close()
	ctx := t.Context()
	must(s.Add(ctx, "c", testItems(0, 100), store.AddOptions{}))(t)
	take := func() []store.Entry {
		return must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 100, MaxPerQueue: 100, Lease: time.Minute}))(t).Leases
	}
	lists := func() int64 {
		return must(only(t, s).ZCard(ctx, s.layout.bases[0]+"E\x00\x00\x00\x01").Result())(t)
	}
	inFlight := func(n int64) {
		t.Helper()
		if st := must(s.Stats(ctx, "c"))(t); st.InFlight != n {
			t.Fatalf("got %d in flight; want %d", st.InFlight, n)
		}
	}
	first := take()
	if len(first) != 100 || lists() != 3 {
		t.Fatalf("got %d leases in %d lists; want 100 in 3", len(first), lists())
	}
	var done []store.Settlement
	for i, l := range first[:60] {
		st := store.Settlement{Key: l.Key, Token: l.Token}
		if i >= 30 {
			st.Outcome, st.After = store.Extend, 2*time.Minute
		}
		done = append(done, st)
	}
	must(s.Settle(ctx, "c", done))(t)
	inFlight(70)
	at.step(90 * time.Second)
	inFlight(30)
	second := take()
	if len(second) != 40 {
		t.Fatalf("got %d leases; want the 40 that ran out", len(second))
	}
	inFlight(70)
	at.step(45 * time.Second) // the extended ones have run out
	inFlight(40)
	third := take()
	if len(third) != 30 {
		t.Fatalf("got %d leases; want the 30 that were extended", len(third))
	}
	complete(t, s, append(second, third...))
	if n := lists(); n != 0 {
		t.Fatalf("got %d lists; want none: no lease runs", n)
	}
	inFlight(0)
}

// TestCountsOfUnfinishedSteps leaves the steps of adds unfinished: before their URLs are queued, and after that. At most as many are
// reported as held as were seen, but a cap counts all of them.
func TestCountsOfUnfinishedSteps(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 4))
	defer s.Close()
	check := func(seen, most int64) {
		t.Helper()
		for _, crawl := range []string{"c", "*"} {
			st := must(s.Stats(t.Context(), crawl))(t)
			if st.Seen != seen || st.Held > st.Seen || st.InFlight > st.Held {
				t.Errorf("got %+v of %s; want %d seen, and no more held", st, crawl, seen)
			}
		}
		if st := must(s.statsBy(t.Context(), "c"))(t)["c"]; st.Held != most {
			t.Errorf("got %d held for a cap; want %d", st.Held, most)
		}
	}
	queued := func(o *offering) {
		d := &delivery{s: s, crawl: "c", steps: o.fresh}
		must(true, d.queue(t.Context()))(t)
	}
	o := begin(t, s, store.AddOptions{}, testItems(0, 50)...)
	check(50, 50)
	queued(o)
	check(50, 100)
	capped := begin(t, s, store.AddOptions{MaxPerQueue: 1000}, testItems(100, 50)...)
	queued(capped)
	check(100, 200)
	must(true, s.sweep(t.Context(), 0))(t)
	check(100, 100)
}

// TestASeeThatFailed has a call fail whose keys were recorded: they are duplicates then, and never new for two callers.
func TestASeeThatFailed(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 4)
	a, b := open(t, o), open(t, o)
	defer closeAll(t, a, b)
	keys := keysOf(testItems(0, 20))
	must(true, a.See(t.Context(), "c", keysOf(testItems(20, 20)), make([]bool, 20), store.SeeOptions{}))(t) // the server gets the script
	a.opt.Replicas, a.opt.waitTimeout, a.opt.RetryFor = 1, time.Millisecond, time.Millisecond               // there is no replica
	if err := a.See(t.Context(), "c", keys, make([]bool, len(keys)), store.SeeOptions{}); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got error %v; want %v", err, store.ErrUnavailable)
	}
	a.opt.Replicas = 0
	for _, s := range []*Store{b, a} {
		fresh := make([]bool, len(keys))
		must(true, s.See(t.Context(), "c", keys, fresh, store.SeeOptions{}))(t)
		if slices.Contains(fresh, true) {
			t.Errorf("got %v; want duplicates", fresh)
		}
	}
}
