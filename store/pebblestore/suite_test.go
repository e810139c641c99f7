package pebblestore

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// suiteOptions are small tables, so that small tests see flushes and
// compactions, and journals that all queues and places are in, and soon out of again. Leases keep no
// texts, or those of about half of the URLs of a history.
func suiteOptions(env storetest.Env, fs vfs.FS) Options {
	from, states, places, texts := 1, 8, 5, int64(1)
	if env.KeepURLs {
		from, states, places, texts = 2, 80, 50, 26
	}
	return Options{
		FS: fs, Clock: env.Clock, KeepURLs: env.KeepURLs, CacheBytes: 1 << 20,
		tuning: tuning{
			journalFrom: from, keptStates: states, keptPlaces: places, leaseBytes: texts, memTableBytes: 64 << 10, tableBytes: 32 << 10,
		},
	}
}

func openSuite(t testing.TB, env storetest.Env, fs vfs.FS, way Options) store.Store {
	opt := suiteOptions(env, fs)
	opt.IndexBytes, opt.Exact, opt.flushKeys, opt.FreeLeases, opt.openQueues = way.IndexBytes, way.Exact, way.flushKeys, way.FreeLeases, way.openQueues
	s, err := Open("db", opt)
	if err != nil {
		t.Fatal(err)
	}
	s.awaitQueues() // or a take gets what is loaded
	return s
}

// TestSuite is the part of the suite that runs under the race detector. TestSuiteInAllWays, which runs without it, has the whole:
// with it, Pebble writes down the stack of each of its iterators, which takes ten times as long.
func TestSuite(t *testing.T) {
	storetest.Run(t, suiteBackend(Options{}, tortureSize(2, 20), true))
}

func suiteBackend(way Options, histories int, keep ...bool) storetest.Backend {
	return storetest.Backend{
		Seeds:    histories,
		Keep:     keep,
		MaxBytes: true,
		Groups:   true,
		Open:     func(t testing.TB, env storetest.Env) store.Store { return openSuite(t, env, vfs.NewMem(), way) },
		Reopen: func(t testing.TB, s store.Store, env storetest.Env) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openSuite(t, env, s.(*Store).opt.FS, way)
		},
	}
}

// waysToLookUp are all ways to look up keys: by the index, by runs, verified, and by an
// index that is left when it is too large; with runs made and merged all the time; and with queues loaded after Open.
var waysToLookUp = []Options{
	{}, {tuning: tuning{flushKeys: 30}}, {IndexBytes: -1, tuning: tuning{openQueues: 1}}, {IndexBytes: -1, tuning: tuning{flushKeys: 30}}, {Exact: true, tuning: tuning{flushKeys: 30}}, {IndexBytes: 1 << 20, tuning: tuning{flushKeys: 400}},
}

func (o Options) testName() string {
	return fmt.Sprintf("budget=%d-exact=%v-flush=%d", o.IndexBytes, o.Exact, o.flushKeys)
}

// TestSuiteInAllWays runs the suite for each way to look up keys. The usual way has all of it; of the others, each
// keeps the texts of ended URLs or not: no case depends on both that and the way.
func TestSuiteInAllWays(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole suite, once for each way to look up")
	}
	for i, way := range waysToLookUp {
		keep := []bool{i%2 == 1}
		if i == 0 {
			keep = nil
		}
		t.Run(way.testName(), func(t *testing.T) { storetest.Run(t, suiteBackend(way, tortureSize(8, 20), keep...)) })
	}
}
