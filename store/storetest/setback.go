package storetest

import (
	"time"

	"github.com/firstseen/firstseen/store"
)

const year = 365 * 24 * time.Hour

// clockCases have a clock that is a year ahead for a while, and is then put right.
var clockCases = []testCase{
	{"a queue served while the clock was ahead waits its delay", func(f *fixture) {
		f.fill("a", 0, 3)
		f.step(year)
		f.wantKeys(f.take(store.TakeRequest{Delay: time.Minute, Lease: time.Hour}), 0)
		f.step(-year)
		f.wantServedIn("a", time.Minute, 1)
	}},
	{"so does one that holds something again only later", func(f *fixture) {
		f.fill("a", 0, 1)
		f.step(year)
		f.end(f.take(store.TakeRequest{Delay: time.Minute})[0], store.Complete)
		f.step(-year)
		f.fill("a", 1, 1)
		f.wantServedIn("a", time.Minute, 1)
	}},
	{"so does one of a store that is opened again", func(f *fixture) {
		f.fill("a", 0, 3)
		f.step(year)
		f.take(store.TakeRequest{Delay: time.Minute, Lease: time.Hour})
		f.step(-year)
		f.reopen()
		f.wantServedIn("a", time.Minute, 1)
	}},
	{"the group of a queue that was served while the clock was ahead waits its delay", func(f *fixture) {
		if !f.b.Groups {
			f.Skip("the store has no groups")
		}
		group, minute := "g", time.Minute
		for n, name := range []string{"a", "b"} {
			f.fill(name, n, 1)
			f.set(name, store.QueueChange{Group: &group, Delay: &minute})
		}
		f.step(year)
		f.end(f.take(store.TakeRequest{Queue: "a"})[0], store.Complete) // it holds nothing from here on
		f.step(-year)
		f.wantServedIn("b", minute, 1)
	}},
	{"a queue served while the clock was ahead is freed by its settings", func(f *fixture) {
		f.fill("a", 0, 9)
		f.step(year)
		f.take(store.TakeRequest{Delay: time.Hour})
		until := f.ahead(time.Hour)
		f.set("a", store.QueueChange{BlockedUntil: &until})
		f.step(-year)
		second, none := time.Second, time.Time{}
		f.wantKeys(f.take(store.TakeRequest{}))
		f.set("a", store.QueueChange{Delay: &second})
		f.set("a", store.QueueChange{BlockedUntil: &none})
		f.wantServedIn("a", time.Second, 1)
	}},
	{"what NotBefore adds to a delay is counted again", func(f *fixture) {
		f.fill("a", 0, 3)
		f.end(f.take(store.TakeRequest{Delay: time.Second})[0], store.Complete)
		f.step(year)
		at := f.ahead(time.Minute)
		f.set("a", store.QueueChange{NotBefore: &at})
		f.step(-year)
		f.wantServedIn("a", time.Minute, 1)
	}},
	{"so it is in a store that is opened again", func(f *fixture) {
		f.fill("a", 0, 3)
		f.step(year)
		l, at := f.take(store.TakeRequest{Lease: time.Hour})[0], f.ahead(time.Minute)
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, QueueChange: &store.QueueChange{NotBefore: &at, Later: true}})
		f.step(-year)
		f.reopen()
		f.wantServedIn("a", time.Minute, 1)
	}},
	{"a lease given while the clock was ahead runs for its length", leaseAhead},
	{"a lease extended while the clock was ahead runs for its length", func(f *fixture) {
		f.fill("a", 0, 1)
		l := f.one()
		f.step(year)
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, Due: f.ahead(time.Minute)})
		f.step(-year)
		f.wantServedIn("a", time.Minute, 0)
	}},
	{"a lease that ran out while the clock was ahead is handed out again", func(f *fixture) {
		f.fill("a", 0, 2)
		f.step(year)
		f.take(store.TakeRequest{Lease: time.Second})
		f.step(time.Hour)
		f.wantStats(store.Stats{Seen: 2, Held: 2, Queues: 1, Active: 1}) // which takes note of it
		f.step(-year - time.Hour)
		f.one() // whichever comes first
		f.step(time.Second)
		f.one()
	}},
	{"a lease given before the clock was ahead keeps its end", func(f *fixture) {
		f.fill("a", 0, 2)
		l := f.take(store.TakeRequest{Lease: time.Hour})
		f.step(10 * time.Minute)
		f.wantKeys(f.take(store.TakeRequest{Lease: time.Hour}), 1)
		f.step(-10 * time.Minute)
		f.wantKeys(f.takeAll())
		f.check(sameTimes(times{"end", f.lookup(0).Expires, l[0].Expires}))
		f.step(time.Hour)
		f.wantKeys(f.takeAll(), 0, 1)
	}},
	{"due times and blocks stay as they were named", func(f *fixture) {
		f.step(year)
		it, until := item(0, "a"), f.ahead(time.Hour)
		it.Due = until
		f.add(it)
		f.fill("b", 1, 1)
		f.set("b", store.QueueChange{BlockedUntil: &until})
		f.step(-year)
		f.wantKeys(f.takeAll())
		f.step(year + time.Hour - time.Millisecond)
		f.wantKeys(f.takeAll())
		f.step(time.Millisecond)
		equal(f, "leases", len(f.takeAll()), 2)
	}},
	{"a clock that is set back by little makes nothing early", func(f *fixture) {
		f.fill("a", 0, 3)
		f.take(store.TakeRequest{Delay: time.Second, Lease: 2 * time.Second})
		f.step(-500 * time.Millisecond)
		f.wantKeys(f.take(store.TakeRequest{Delay: time.Second}))
		f.step(1499 * time.Millisecond)
		f.wantKeys(f.takeAll())
	}},
}

// wantServedIn fails the test unless the queue leases a URL after a time and not before.
func (f *fixture) wantServedIn(queue string, after time.Duration, n int) {
	f.Helper()
	got := f.taken(store.TakeRequest{Queue: queue})
	f.wantKeys(got.Leases)
	f.check(sameTimes(times{"next", got.Next, f.ahead(after)}))
	f.step(after - time.Millisecond)
	f.wantKeys(f.take(store.TakeRequest{}))
	f.step(time.Millisecond)
	f.wantKeys(f.take(store.TakeRequest{}), n)
}

func leaseAhead(f *fixture) {
	for _, reopen := range []bool{false, true} {
		f.fill("a", 0, 1)
		f.step(year)
		f.wantKeys(f.take(store.TakeRequest{Lease: time.Minute}), 0)
		f.step(-year)
		if reopen {
			f.reopen()
		}
		f.wantServedIn("a", time.Minute, 0)
		f.forget(1, store.Selection{Keys: []store.Key{key(0)}})
	}
}
