package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// suiteOptions are small tables, so that small tests see flushes and
// compactions, and a journal that all queues are in, and soon out of again.
func suiteOptions(env storetest.Env, fs vfs.FS) Options {
	from, size := 1, 200
	if env.KeepURLs {
		from, size = 2, 2000
	}
	return Options{
		journalFrom: from, journalSize: size,
		FS: fs, Identity: env.Identity, Clock: env.Clock, KeepURLs: env.KeepURLs,
		MemTableBytes: 64 << 10, TableBytes: 32 << 10, CacheBytes: 1 << 20,
	}
}

func openSuite(t testing.TB, env storetest.Env, fs vfs.FS, behind bool) store.Store {
	opt := suiteOptions(env, fs)
	opt.LoadBehind = behind
	s, err := Open("db", opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) { storetest.Run(t, suiteBackend(false)) }

// TestSuiteLoadBehind reopens stores that fill their index while the test goes
// on.
func TestSuiteLoadBehind(t *testing.T) { storetest.Run(t, suiteBackend(true)) }

func suiteBackend(behind bool) storetest.Backend {
	return storetest.Backend{
		MaxBytes: true,
		Open:     func(t testing.TB, env storetest.Env) store.Store { return openSuite(t, env, vfs.NewMem(), behind) },
		Reopen: func(t testing.TB, s store.Store, env storetest.Env) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openSuite(t, env, s.(*Store).opt.FS, behind)
		},
	}
}
