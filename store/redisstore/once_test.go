package redisstore

import (
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// takeAll takes all of crawl c that is due.
func takeAll(t *testing.T, s *Store) []store.Entry {
	t.Helper()
	return must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 10, MaxPerQueue: 10}))(t).Leases
}

// complete settles leases of crawl c.
func complete(t *testing.T, s *Store, leases []store.Entry) {
	t.Helper()
	for _, l := range leases {
		must(s.Settle(t.Context(), "c", []store.Settlement{{Key: l.Key, Token: l.Token}}))(t)
	}
}

// once takes the one URL that crawl c holds, completes it, and wants nothing more to be there.
func once(t *testing.T, s *Store) {
	t.Helper()
	before := must(s.Stats(t.Context(), "c"))(t)
	if before.Held != 1 || s.opt.KeepURLs && before.Completed != 0 {
		t.Fatalf("got %+v; want one URL held", before)
	}
	leases := takeAll(t, s)
	if len(leases) != 1 {
		t.Fatalf("got %d leases; want one", len(leases))
	}
	complete(t, s, leases)
	if st := must(s.Stats(t.Context(), "c"))(t); st.Held != 0 || st.Completed != before.Completed+1 {
		t.Fatalf("got %+v; want it completed", st)
	}
}

// TestTwoForceAtOnce has two daemons queue a completed URL again, step by step at the same time.
func TestTwoForceAtOnce(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	for _, keep := range []bool{false, true} {
		o := testOptions(addr, 8)
		o.KeepURLs = keep
		s := open(t, o)
		defer s.Close()
		it := testItem(1, "a")
		must(s.Add(t.Context(), "c", []store.Item{it}, store.AddOptions{}))(t)
		once(t, s)
		found := must(s.resolve(t.Context(), scriptResolve, "c", []store.Key{it.Key}))(t)
		_, home := s.layout.ofQueue(store.DefaultCrawl, it.Queue)
		first := &step{key: it.Key, old: found[0], mode: 'f', entry: appendItem(nil, &it, home)}
		if must(true, s.begin(t.Context(), "c", stepMove, []*step{first}))(t); first.begun != 'Y' {
			t.Fatal("the URL changed; want it as it was found")
		}
		second := it
		second.Force = true
		if v := must(s.Add(t.Context(), "c", []store.Item{second}, store.AddOptions{}))(t); v[0].Requeued {
			t.Fatalf("got %+v; want it queued by the first", v[0])
		}
		if must(true, s.deliver(t.Context(), "c", []*step{first}))(t); first.answer != 'Q' {
			t.Fatalf("got %c; want it queued by the first", first.answer)
		}
		once(t, s)
	}
}

// TestAURLIsFetchedWhileItIsAskedForAgain offers a URL that ended long ago to the queue that has it, or to another. Before the step
// begins, or before its message comes, another daemon queues it again and fetches it.
func TestAURLIsFetchedWhileItIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"a", "b"} {
		s, at := openWithClock(t, 8)
		defer s.Close()
		s.opt.KeepURLs = true
		first := testItem(1, "a")
		must(s.Add(t.Context(), "c", []store.Item{first}, store.AddOptions{}))(t)
		complete(t, s, takeAll(t, s))
		at.step(time.Hour)
		first.EndedBefore = at.now().Add(-time.Minute)
		second := first
		second.Queue = queue
		w := unsent(s, "c", store.AddOptions{}, second)
		list := must(w.toForce(t.Context(), []int{0}))(t)
		if v := must(s.Add(t.Context(), "c", []store.Item{first}, store.AddOptions{}))(t); !v[0].Requeued {
			t.Fatalf("got %+v; want it queued again", v[0])
		}
		complete(t, s, takeAll(t, s))
		must(true, s.begin(t.Context(), "c", stepMove, list))(t)
		must(true, s.sweep(t.Context(), 0))(t) // from the outbox
		must(true, s.deliver(t.Context(), "c", list))(t)
		if !list[0].changed() {
			t.Errorf("got a step that queues a URL which was fetched since, for queue %q", queue)
		}
		if e := must(storetest.Lookup(t.Context(), s, "c", first.Key))(t); e.State != store.Done || e.Queue != "a" {
			t.Errorf("got it %v in queue %q; want it done in a", e.State, e.Queue)
		}
		if v := must(s.Add(t.Context(), "c", []store.Item{second}, store.AddOptions{}))(t); v[0].Status != store.Duplicate || v[0].Requeued {
			t.Errorf("got %+v; want a duplicate", v[0])
		}
	}
}

// TestTwoSpellingsOfAMarkedURLAtOnce offers two other spellings of a URL that was not found to two daemons at once: both are told that its key is
// marked. One is queued and fetched before the other looks further.
func TestTwoSpellingsOfAMarkedURLAtOnce(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"a", "b"} {
		for _, keep := range []bool{false, true} {
			o := testOptions(sharedServer(t), 8)
			o.KeepURLs = keep
			s := open(t, o)
			defer s.Close()
			spelled := func(url, queue string) store.Item {
				it := testItem(1, queue)
				it.URL, it.Variant = url, true
				return it
			}
			bad := spelled("http://a.example//1", "a")
			must(s.Add(t.Context(), "c", []store.Item{bad}, store.AddOptions{}))(t)
			l := takeAll(t, s)[0]
			must(s.Settle(t.Context(), "c", []store.Settlement{{Key: l.Key, Token: l.Token, Outcome: store.Drop, Mark: store.Spelling(bad.URL)}}))(t)

			late := unsent(s, "c", store.AddOptions{}, spelled("http://a.example/./1", queue))
			begun := must(late.toForce(t.Context(), []int{0}))(t) // this one has gone further
			if len(begun) != 1 {
				t.Fatalf("got %d steps; want one for another spelling of a marked key", len(begun))
			}
			good := spelled("http://a.example/1/.", "a")
			if v := must(s.Add(t.Context(), "c", []store.Item{good}, store.AddOptions{}))(t); !v[0].Requeued {
				t.Fatalf("got %+v; want it queued as another spelling", v[0])
			}
			complete(t, s, takeAll(t, s))

			must(true, s.carryOut(t.Context(), "c", stepMove, begun))(t)
			must(true, late.force(t.Context(), []int{0}))(t)
			if v := late.verdicts[0]; begun[0].begun != 'U' || v.Status != store.Duplicate || v.Requeued {
				t.Errorf("got step %c, %+v; want a duplicate", begun[0].begun, v)
			}
			if n := len(takeAll(t, s)); n > 0 {
				t.Errorf("got the page again, in queue %q, with texts %v", queue, keep)
			}
		}
	}
}

// TestForcedTogetherIntoAQueueWithRoomForOne forces two URLs that are done into a queue that has room for one, one of them from another queue,
// or both. The other one stays as it is, in whatever order another daemon delivers their steps.
func TestForcedTogetherIntoAQueueWithRoomForOne(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"a", "b"} {
		o := testOptions(sharedServer(t), 8)
		o.KeepURLs = true
		s := open(t, o)
		defer s.Close()
		items := []store.Item{testItem(1, "a"), testItem(2, queue)}
		must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
		complete(t, s, takeAll(t, s))
		for i := range items {
			items[i].Queue, items[i].Force = "b", true
		}
		w := unsent(s, "c", store.AddOptions{MaxPerQueue: 1}, items...)
		list := must(w.toForce(t.Context(), upTo(len(items))))(t)
		if len(list) != 1 || list[0].item != 0 || w.verdicts[1].Status != store.Full {
			t.Fatalf("got %d steps, and %+v; want the second one full", len(list), w.verdicts)
		}
		must(true, s.begin(t.Context(), "c", stepMove, list))(t)
		must(true, s.sweep(t.Context(), 0))(t)
		for i, want := range []store.State{store.Queued, store.Done} {
			if e := must(storetest.Lookup(t.Context(), s, "c", items[i].Key))(t); e.State != want || i == 1 && e.Queue != queue {
				t.Errorf("got URL %d %v in queue %q; want %v", i, e.State, e.Queue, want)
			}
		}
	}
}

// TestAKeyHasOneStep begins steps of a key whose add was not delivered since it was looked up: they have to wait.
func TestAKeyHasOneStep(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	it := testItem(1, "a")
	_, home := s.layout.ofQueue(store.DefaultCrawl, it.Queue)
	o := begin(t, s, store.AddOptions{}, it)
	for _, kind := range []byte{stepForget, stepMove} {
		st := &step{key: it.Key, old: atHome{state: queuedIn, queue: home}, mode: 'h', entry: appendItem(nil, &it, home)}
		if must(true, s.begin(t.Context(), "c", kind, []*step{st}))(t); st.begun != 'P' {
			t.Errorf("got %c of a step %c; want P: another step is under way", st.begun, kind)
		}
	}
	must(true, o.queue(t.Context()))(t)
	wantHeld(t, s, 1)
}

// TestACrawlIsForgottenDuringAnAdd leaves a URL in its queue that the seen side doesn't know; it is
// found again.
func TestACrawlIsForgottenDuringAnAdd(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 8))
	defer s.Close()
	items := []store.Item{testItem(1, "a")}
	o := begin(t, s, store.AddOptions{}, items...)
	must(s.Forget(t.Context(), store.Selection{Crawl: "c"}))(t)
	must(true, o.queue(t.Context()))(t)
	must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
	once(t, s)
}

// TestAKeyIsLost loses a key at its home, as a failover may, while its queue has the URL.
func TestAKeyIsLost(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	for _, keep := range []bool{false, true} {
		o := testOptions(addr, 8)
		o.KeepURLs, o.CacheBytes = keep, -1
		s := open(t, o)
		defer s.Close()
		items := []store.Item{testItem(1, "a")}
		again := func() {
			for _, bucket := range must(only(t, s).Keys(t.Context(), s.opt.Prefix+"*}h*").Result())(t) {
				must(only(t, s).HDel(t.Context(), bucket, string(items[0].Key[:])).Result())(t)
			}
			must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
		}
		must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
		again()
		once(t, s)
		if keep { // else no row shows any more that it was completed
			again()
			once(t, s)
		}
	}
}

// TestAURLWithoutARecordIsPassedOver has a queue name a URL whose record is gone.
func TestAURLWithoutARecordIsPassedOver(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	items := []store.Item{testItem(1, "a"), testItem(2, "a"), testItem(3, "b")}
	must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
	records := s.layout.bases[0] + "R\x00\x00\x00\x01"
	for _, i := range []int{0, 2} {
		if n := must(only(t, s).Del(t.Context(), records+string(items[i].Key[:])).Result())(t); n != 1 {
			t.Fatalf("got %d records deleted; want one", n)
		}
	}
	taken := must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 3, MaxPerQueue: 2}))(t)
	if len(taken.Leases) != 1 || taken.Leases[0].Key != items[1].Key || taken.Next.IsZero() {
		t.Fatalf("got %+v; want the URL that has a record, and more at some time", taken)
	}
	complete(t, s, taken.Leases)
	if st := must(s.Stats(t.Context(), "c"))(t); st.Held != 0 || st.Completed != 1 {
		t.Fatalf("got %+v; want one completed and none held", st)
	}
}

// TestAQueueIsForgottenDuringACappedAdd forgets a URL that is in its queue, and whose key is yet to be
// confirmed.
func TestAQueueIsForgottenDuringACappedAdd(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 8))
	defer s.Close()
	items := []store.Item{testItem(1, "a")}
	o := begin(t, s, store.AddOptions{MaxPerQueue: 5}, items...)
	must(true, (&delivery{s: s, crawl: "c", steps: o.fresh}).queue(t.Context()))(t)
	if n := must(s.Forget(t.Context(), store.Selection{Crawl: "c", Queue: "a"}))(t); n != 1 {
		t.Fatalf("got %d forgotten; want one", n)
	}
	must(true, o.queue(t.Context()))(t) // too late
	if st := must(s.Stats(t.Context(), "c"))(t); st != (store.Stats{}) {
		t.Fatalf("got %+v; want nothing", st)
	}
	must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
	once(t, s)
}
