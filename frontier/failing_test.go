package frontier

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestDeadHostWaits: a host that does not answer is asked less and less, one answer ends that, and a host beside it is not
// touched.
func TestDeadHostWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, RetryAfter: time.Second, Attempts: -1})
		for i := range 50 {
			addAll(t, f, Link{URL: fmt.Sprintf("http://dead.example/%d", i)}, Link{URL: fmt.Sprintf("http://fine.example/%d", i)})
		}
		began, leases, fine := time.Now(), 0, 0
		for time.Since(began) < 2*time.Hour {
			l, err := f.Next(bg)
			must(t, err)
			if l.Queue == "fine.example" {
				fine++
				must(t, f.Done(bg, l))
				continue
			}
			leases++
			_, err = f.Retry(bg, l, time.Time{})
			must(t, err)
		}
		if leases > 12 || fine != 50 {
			t.Errorf("got %d leases of the dead host and %d of the other in two hours; want at most 12, and 50", leases, fine)
		}
		q, err := f.Queue(bg, "", "dead.example")
		must(t, err)
		if row, _ := f.Failing("", "dead.example"); row != leases || q.Next.Before(time.Now().Add(50*time.Minute)) {
			t.Errorf("got %d failures, next at %v; want %d, and the longest wait", row, q.Next, leases)
		}
		time.Sleep(time.Until(q.Next))
		l := leaseOne(t, f)
		must(t, f.Done(bg, &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token})) // as it comes over the wire
		if row, _ := f.Failing("", "dead.example"); row != 0 {
			t.Errorf("got %d failures after a success; want none", row)
		}
		leaseOne(t, f)
	})
}

// TestSuccessOfAnEarlierLeaseCounts: a host that answers some of the URLs that were leased together is not down, whenever they were
// leased, and whether their holders kept the leases.
func TestSuccessOfAnEarlierLeaseCounts(t *testing.T) {
	for _, wire := range []bool{false, true} {
		f := open(t, Options{Delay: -1, MaxInFlight: -1, Attempts: -1})
		for i := range 36 {
			addAll(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
		}
		leases := leaseUpTo(t, f, 36)
		settle := func(l *Lease, o Outcome) {
			t.Helper()
			if wire {
				l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
			}
			_, err := f.Settle(bg, []Settlement{{Lease: l, Outcome: o}})
			must(t, err)
		}
		for i, l := range leases[:30] {
			settle(l, []Outcome{Retry, Done, Retry, Retry, Done, Retry}[i%6])
			if _, waits := f.Failing("", "a.example"); waits {
				t.Fatalf("wire %v: the queue waits after result %d", wire, i)
			}
		}
		for _, l := range leases[30:35] {
			settle(l, Retry)
		}
		if _, waits := f.Failing("", "a.example"); !waits {
			t.Errorf("wire %v: the queue does not wait after 5 failures in a row", wire)
		}
		settle(leases[35], Done)
		if row, waits := f.Failing("", "a.example"); row != 0 || waits {
			t.Errorf("wire %v: got %d failures, waits %v, after a success; want none", wire, row, waits)
		}
	}
}

// TestOnlySettledResultsCount: reports of leases that are over, or of none, neither end the wait of a queue nor begin one.
func TestOnlySettledResultsCount(t *testing.T) {
	f := open(t, Options{Delay: -1, MaxInFlight: -1, Attempts: -1})
	for i := range 20 {
		addAll(t, f, Link{URL: fmt.Sprintf("http://a.example/%d", i)})
	}
	leases := leaseUpTo(t, f, 20)
	settle := func(token uint64, l *Lease, o Outcome, want Settled) {
		t.Helper()
		got, err := f.Settle(bg, []Settlement{{Lease: &Lease{Crawl: l.Crawl, Key: l.Key, Token: token}, Outcome: o}})
		must(t, err)
		if got[0] != want {
			t.Fatalf("got %v; want %v", got[0], want)
		}
	}
	counted, open := leases[0], leases[1]
	settle(counted.Token, counted, Done, OK)
	for i, l := range leases[2:10] {
		settle(77, l, Retry, Stale)
		settle(l.Token, l, Retry, OK)
		settle(77, open, Done, Stale)
		settle(counted.Token, counted, Done, Stale)
		if row, waits := f.Failing("", "a.example"); row != i+1 || waits != (row >= 5) {
			t.Fatalf("got %d failures, waits %v; want %d", row, waits, i+1)
		}
	}
	settle(open.Token, open, Done, OK)
	if row, waits := f.Failing("", "a.example"); row != 0 || waits {
		t.Errorf("got %d failures, waits %v, after a success; want none", row, waits)
	}
}

// TestOperatorEndsTheWait: whoever unblocks a queue, whose host is up again, need not wait for the end of its wait.
func TestOperatorEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, RetryAfter: time.Second, Attempts: -1, FailingAfter: 2})
		for i := range 3 {
			addAll(t, f, Link{URL: fmt.Sprintf("http://dead.example/%d", i)})
		}
		for range 2 {
			_, err := f.Retry(bg, leaseOne(t, f), time.Time{})
			must(t, err)
		}
		if _, waits := f.Failing("", "dead.example"); !waits {
			t.Fatal("the queue does not wait")
		}
		if _, idle, err := f.Lease(bg, LeaseRequest{}); err != nil || idle.FailingQueue != "dead.example" || !strings.Contains(idle.String(), "dead.example waits") {
			t.Errorf("got %v, %v; want the queue named", idle, err)
		}
		must(t, f.Configure(bg, "", "dead.example", store.QueueChange{BlockedUntil: &time.Time{}}))
		if row, waits := f.Failing("", "dead.example"); row != 0 || waits {
			t.Errorf("got %d failures, waits: %v; want none, and no wait", row, waits)
		}
		leaseOne(t, f)
	})
}

// TestFailingQueueIsOneOfTheRequest: of several queues that wait it is always the same that is named, and none that was not asked for or
// waits no more.
func TestFailingQueueIsOneOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, Attempts: -1, FailingAfter: 1, RetryAfter: 3 * time.Hour})
		addAll(t, f, Link{URL: "http://c.example/"}, Link{URL: "http://a.example/"}, Link{URL: "http://b.example/"})
		for _, l := range leaseUpTo(t, f, 3) {
			_, err := f.Retry(bg, l, time.Time{})
			must(t, err)
		}
		addAll(t, f, Link{URL: "http://slow.example/", Due: time.Now().Add(time.Hour)})
		named := func(req LeaseRequest, want string) {
			t.Helper()
			for range 20 {
				if _, idle, err := f.Lease(bg, req); err != nil || idle.FailingQueue != want {
					t.Fatalf("%+v: got %+v, %v; want %q named", req, idle, err, want)
				}
			}
		}
		named(LeaseRequest{}, "a.example")
		named(LeaseRequest{Queue: "c.example"}, "c.example")
		named(LeaseRequest{Queue: "slow.example"}, "")
		time.Sleep(2 * time.Minute)
		named(LeaseRequest{}, "")
		if n := len(f.failing.waits); n != 0 {
			t.Errorf("got %d waits kept that are over; want none", n)
		}
	})
}

// TestNetworkFailureBlamesNobody: when all hosts fail at once, none of them waits beyond its delay.
func TestNetworkFailureBlamesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, Options{Delay: -1, RetryAfter: time.Second, Attempts: -1})
		for i := range 20 {
			addAll(t, f, Link{URL: fmt.Sprintf("http://h%d.example/", i)})
		}
		for range 300 {
			l, err := f.Next(bg)
			must(t, err)
			_, err = f.Retry(bg, l, time.Now().Add(time.Second))
			must(t, err)
		}
		for i := range 20 {
			if row, _ := f.Failing("", fmt.Sprintf("h%d.example", i)); row > 1 {
				t.Errorf("host %d: got %d failures counted; want next to none", i, row)
			}
		}
	})
}

// TestFailuresOfOneWaitAreOneStep: of URLs that were leased together, and whose failures come one by one during the wait or after it,
// the first makes the queue wait, and the others don't lengthen that. Whoever is leased after the wait, and fails, does.
func TestFailuresOfOneWaitAreOneStep(t *testing.T) {
	for _, wire := range []bool{false, true} {
		for seed := range uint64(20) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				f := open(t, Options{Delay: -1, MaxInFlight: -1, Attempts: -1, RetryAfter: time.Second, MaxFailingWait: 5 * time.Minute, Lease: time.Hour})
				for i := range 200 {
					addAll(t, f, Link{URL: fmt.Sprintf("http://dead.example/%d", i)})
				}
				for step, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
					leases := leaseUpTo(t, f, 5+rnd.IntN(20))
					var until time.Time
					for i, l := range leases {
						if wire {
							l = &Lease{Crawl: l.Crawl, Key: l.Key, Token: l.Token}
						}
						_, err := f.Retry(bg, l, time.Now().Add(time.Hour))
						must(t, err)
						q, err := f.Queue(bg, "", "dead.example")
						must(t, err)
						if step == 0 && i < 4 {
							continue
						}
						if until.IsZero() {
							until = time.Now().Add(want)
						}
						if off := q.Next.Sub(until); off < 0 && time.Now().Before(until) || off >= time.Millisecond {
							t.Fatalf("wire %v, seed %d, step %d, failure %d of %d: waits until %v; want %v", wire, seed, step, i, len(leases), q.Next, until)
						}
						time.Sleep(time.Duration(rnd.Int64N(int64(want / 5))))
					}
					time.Sleep(time.Until(until))
				}
			})
		}
	}
}
