package frontier

import (
	"context"
	"errors"
	"time"

	"github.com/firstseen/firstseen/store"
)

// The rest of the operations of modelRun: what steers and what looks.

func (r *modelRun) step() error {
	d := time.Duration(1+r.rnd.IntN(3000)) * time.Millisecond
	r.note("step %v", d)
	time.Sleep(d)
	return nil
}

func (r *modelRun) put() error {
	crawl, page, host, spelling := r.page()
	k := Known{Link: Link{URL: spelling, Crawl: crawl}}
	if r.rnd.IntN(2) == 0 {
		k.Next = r.someTime()
	}
	r.note("put %+v", k)
	want := r.m.put(crawl, page, host, spelling, k.Next, time.Now())
	results, err := r.f.Put(bg, []Known{k})
	if err != nil {
		return err
	}
	if results[0].Status != want {
		return breaks(invVerdict, "put %s: got %v; want %v", spelling, results[0].Status, want)
	}
	return nil
}

func (r *modelRun) forget() error {
	crawl, page, _, spelling := r.page()
	want := int64(0)
	if u := r.m.find(crawl, page); u != nil {
		want = 1
		r.m.forget(u)
		u.state = mSeen // its hand-outs are stale
	}
	r.note("forget %s %s", crawl, spelling)
	n, err := r.f.Forget(bg, Selection{Crawl: crawl, URLs: []Link{{URL: spelling}}})
	if err != nil {
		return err
	}
	if n != want {
		return breaks(invLost, "forget %s: got %d; want %d", spelling, n, want)
	}
	return nil
}

func (r *modelRun) block() error {
	crawl, _, host, _ := r.page()
	until := r.someTime()
	q := r.m.queue(crawl, host)
	if q.blocked = until; !until.After(time.Now()) {
		q.notBefore = time.Time{} // an operator says that the host is up
	}
	r.note("block %s %s until %v", crawl, host, until)
	return block(r.f, crawl, host, until)
}

func (r *modelRun) pause() error {
	crawl, _, host, _ := r.page()
	paused := r.rnd.IntN(3) == 0
	if r.rnd.IntN(2) == 0 {
		host = ""
		r.m.paused[crawl] = paused
	} else {
		r.m.queue(crawl, host).paused = paused
	}
	r.note("pause %s %s %v", crawl, host, paused)
	return pause(r.f, crawl, host, paused)
}

func (r *modelRun) setDelay() error {
	crawl, _, host, _ := r.page()
	delay := []time.Duration{0, -1, 100 * time.Millisecond, 3 * time.Second}[r.rnd.IntN(4)]
	r.m.queue(crawl, host).delay = delay
	r.note("delay %s %s %v", crawl, host, delay)
	return r.f.Configure(bg, crawl, host, store.QueueChange{Delay: &delay})
}

func (r *modelRun) setWeight() error {
	crawl, _, host, _ := r.page()
	weight := uint8(r.rnd.IntN(5))
	q := r.m.queue(crawl, host)
	q.weight, q.owes = int(weight), true
	r.m.races = nil
	r.note("weight %s %s %d", crawl, host, weight)
	return r.f.Configure(bg, crawl, host, store.QueueChange{Weight: &weight})
}

func (r *modelRun) lookup() error {
	crawl, page, _, spelling := r.page()
	e, err := r.f.Lookup(bg, Link{URL: spelling, Crawl: crawl})
	u := r.m.find(crawl, page)
	if u == nil {
		if !errors.Is(err, store.ErrNotFound) {
			return breaks(invVerdict, "lookup %s: got %v, %v; want ErrNotFound", spelling, e.State, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if u.held() && (e.URL != u.spelling || (e.State == store.Leased) != (u.state == mLeased)) {
		return breaks(invLost, "lookup %s: got %s, state %d; want %s, state %d", spelling, e.URL, e.State, u.spelling, u.state)
	}
	return nil
}

// next waits for whatever comes first: it must come at the very time when the
// rules allow it, and not at all if that is after the deadline.
func (r *modelRun) next() error {
	deadline := time.Now().Add(time.Duration(r.rnd.IntN(4000)) * time.Millisecond)
	want := r.m.opens(time.Now(), deadline)
	ctx, cancel := context.WithDeadline(bg, deadline)
	defer cancel()
	l, err := r.f.Next(ctx)
	r.note("next until %v: %v, %v", deadline, l, err)
	for len(r.gone) > 0 { // a dropped URL is not an answer
		first, rest := r.gone[:1], r.gone[1:]
		if at := first[0].at; !at.Equal(want) && !at.Equal(deadline) {
			return breaks(invIdle, "%s dropped at %v; want it at %v", first[0].url, at, want)
		}
		r.gone = first
		if _, err := r.checkGone(false); err != nil {
			return err
		}
		r.gone, want = rest, r.m.opens(first[0].at, deadline)
	}
	r.m.races = nil
	switch {
	case want.IsZero() && errors.Is(err, context.DeadlineExceeded):
		return nil
	case want.IsZero() && err == nil && !time.Now().Equal(deadline): // at that very time both may be
		return breaks(invPolite, "%s handed out at %v; want nothing before %v", l.URL, time.Now(), deadline)
	case errors.Is(err, context.DeadlineExceeded):
		return breaks(invIdle, "nothing handed out until %v; want it at %v", deadline, want)
	case err != nil:
		return err
	case !want.IsZero() && !time.Now().Equal(want):
		return breaks(invIdle, "%s handed out at %v; want it at %v", l.URL, time.Now(), want)
	}
	return r.checkLeases([]*Lease{l}, 1, func(*modelQueue) bool { return true })
}

// takeAndRelease hands out one URL after the other and gets each back at once:
// what could be served stays there, so that only fairness decides.
func (r *modelRun) takeAndRelease() error {
	for range 40 {
		leases, _, err := r.f.Lease(bg, LeaseRequest{Max: 1})
		if err != nil {
			return err
		}
		r.note("take and release %s", urlsOf(leases))
		if err := r.checkLeases(leases, 1, func(*modelQueue) bool { return true }); err != nil || len(leases) == 0 {
			return err
		}
		h := r.old[len(r.old)-1]
		if h.l != leases[0] {
			continue
		}
		r.m.settle(h.u, h.l, Settlement{Outcome: Release}, time.Now())
		if err := r.f.Release(bg, h.l); err != nil {
			return err
		}
	}
	return nil
}

func (r *modelRun) restart() (err error) {
	r.note("restart")
	r.m.races = nil
	r.f, err = r.reopen(r.f)
	return err
}

// count compares the counts, after each operation.
func (r *modelRun) count() error {
	for _, crawl := range modelCrawls {
		s, err := r.f.Stats(bg, crawl)
		if err != nil {
			return err
		}
		s.Queues, s.Active = 0, 0
		if want := r.m.counts(crawl, time.Now()); s != want {
			return breaks(invLost, "crawl %s: got %+v; want %+v", crawl, s, want)
		}
	}
	return nil
}

// drain removes all blocks, pauses and bounds, and hands out everything: all held URLs must come,
// within the time that the rules require.
func (r *modelRun) drain() error {
	for _, crawl := range modelCrawls {
		r.m.paused[crawl] = false
		if err := pause(r.f, crawl, "", false); err != nil {
			return err
		}
	}
	for _, q := range r.m.queues {
		q.paused = false
		if err := pause(r.f, q.crawl, q.host, false); err != nil {
			return err
		}
	}
	for range 400 { // steps of 500 ms; the latest due time is 6 s away
		leases, _, err := r.f.Lease(bg, LeaseRequest{Max: 3})
		if err != nil {
			return err
		}
		r.note("drain: %s", urlsOf(leases))
		if err := r.checkLeases(leases, 3, func(*modelQueue) bool { return true }); err != nil {
			return err
		}
		r.m.endRaces(time.Now())
		for _, l := range leases {
			h := r.old[len(r.old)-1]
			for _, o := range r.old {
				if o.l == l {
					h = o
				}
			}
			if got, want := r.f.Done(bg, l), r.m.settle(h.u, l, Settlement{}, time.Now()); got != nil || want != OK {
				return breaks(invSettle, "%s done: got %v; want %v", l.URL, got, want)
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	for _, u := range r.m.urls {
		if u.held() {
			return breaks(invStarve, "%s %s was never handed out", u.crawl, u.spelling)
		}
	}
	return r.count()
}
