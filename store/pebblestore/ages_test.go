package pebblestore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// TestAgesCountFromTheLastFetch checks that forgetting by age spares what was fetched since, in crawls with a retention of their own or
// of a user, over a crash, whether keys are in runs or packed rows, and that other crawls move no keys.
func TestAgesCountFromTheLastFetch(t *testing.T) {
	const day = 24 * time.Hour
	for _, way := range []struct {
		own, all time.Duration
		keep     bool
		flush    int64
	}{{own: 16 * day}, {own: 16 * day, keep: true, flush: 20}, {all: 16 * day, flush: 20}, {}} {
		t.Run(fmt.Sprintf("%+v", way), func(t *testing.T) {
			began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			var past atomic.Int64 // since then; flushes in the background read the clock
			now := func() time.Time { return began.Add(time.Duration(past.Load())) }
			mem := vfs.NewCrashableMem()
			opt := Options{FS: mem, KeepURLs: way.keep, Clock: now}
			opt.flushKeys = way.flush
			if way.own+way.all == 0 {
				opt.generation = 2 * day
			}
			open := func() *Store {
				s := mustOpen(t, "db", opt)
				if err := s.Prepare(t.Context(), store.Terms{Retention: way.all}); err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := open()
			if err := s.Configure(t.Context(), "", "", store.QueueChange{Retention: &way.own}); err != nil {
				t.Fatal(err)
			}
			addQueued(t, s, "a", 0, 100)
			later := func(d time.Duration) {
				past.Add(int64(d))
				see(t, s, "", []store.Key{testKey(1000 + int(now().Sub(began)/day))}) // a generation of its time
			}
			later(3 * day)
			var list []store.Settlement
			leases := takeSome(t, s, 60)
			for i, l := range leases {
				st := store.Settlement{Key: l.Key, Token: l.Token, Late: true, Fetched: i < 40}
				if i < 10 {
					st.Outcome, st.NewRound, st.Due = store.Requeue, true, now().Add(3*day)
				}
				list = append(list, st)
			}
			later(7 * day)
			settleAll(t, s, list) // 40 pages, 10 of them again later, and 20 sources of redirects
			wantSound(t, s)
			past.Add(int64(3 * day))
			for _, l := range takeSome(t, s, 50)[40:] { // again, perhaps in the generation that they are in by now
				settleAll(t, s, []store.Settlement{{Key: l.Key, Token: l.Token, Fetched: true}, {Key: l.Key, Create: true, Queue: "a", Fetched: true}})
			}
			wantSound(t, s)
			opt.FS = mem.CrashClone(vfs.CrashCloneCfg{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open()
			defer s.Close()
			wantSound(t, s)
			later(7 * day)
			for range 4 {
				if _, err := s.Forget(t.Context(), store.Selection{Before: now().Add(-16 * day)}); err != nil {
					t.Fatal(err)
				}
			}
			wantSound(t, s)
			gone := 0
			for i, l := range leases {
				_, err := storetest.Lookup(t.Context(), s, "", l.Key)
				aged := way.own+way.all > 0
				if kept := i < 40 && aged; kept != (err == nil) {
					t.Errorf("key %d: got %v; want it kept: %v", i, err, kept)
				}
				gone += int(one(err != nil))
			}
			if st, err := s.Stats(t.Context(), ""); err != nil || st.Held < 40 || gone < 20 {
				t.Errorf("got %+v, %v, %d keys gone; want the held ones kept, and the others gone", st, err, gone)
			}
		})
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
