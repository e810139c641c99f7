// Package storetest is the test suite for every [store.Store]. It has a test for nearly each sentence of
// the interface, and random steps that are compared with a model. A backend itself must test what depends on
// its disk, its clock and its size: [store.ErrFailed], [store.ErrClock] and [store.Selection] by age,
// [store.Terms.Retention], [store.Settlement.UnicodeHost], and the cost of Stats.
//
// The model is deliberately simple. It searches lists from end to end, and shares no code with any backend.
// If the interface leaves a choice (which queue is next?), the model does not choose, but checks the
// choice of the backend. The tests use a clock that they step, so nothing sleeps.
package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Env is what a store under test is opened with.
type Env struct {
	Clock    store.Clock
	KeepURLs bool // keep the text of completed and dropped URLs
}

// Backend is what the suite needs of a backend.
type Backend struct {
	// Open opens a new, empty store. The suite prepares and closes it.
	Open func(t testing.TB, env Env) store.Store
	// Reopen ends the use of a store and opens it again, for the suite to prepare. It may close it first, or use its disk as
	// a crash would leave it. The default is that the store is not durable; tests of that are
	// skipped.
	Reopen func(t testing.TB, s store.Store, env Env) store.Store
	// MaxBytes means that the store obeys TakeRequest.MaxBytes.
	MaxBytes bool
	// Shards is set if queues take turns in several shards, each on its own: see [store.Store.Take] on which go first.
	Shards bool
	// Keep is the values of Env.KeepURLs that the cases run with; none, if it is empty. The default is both.
	Keep []bool
	// Groups means that the store has groups of queues.
	Groups bool
	// Other opens the store that is open once more, as another process would. Random histories then take turns between both. The
	// default is that it has one user.
	Other func(t testing.TB, s store.Store, env Env) store.Store
	// Seeds is the number of random histories for the model. The default is 20.
	Seeds int
	// Found has the seeds of other histories, which found a fault once.
	Found []int
	// Steps is the length of each. The default is 300.
	Steps int
}

// Run runs the suite. Its cases run in parallel, each on a store of its own.
func Run(t *testing.T, b Backend) {
	if b.Keep == nil {
		b.Keep = []bool{false, true}
	}
	for _, keep := range b.Keep {
		name := "drop-urls"
		if keep {
			name = "keep-urls"
		}
		t.Run(name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newFixture(t, b, keep))
				})
			}
		})
	}
	t.Run("model", func(t *testing.T) { runModel(t, b) })
}

// testCase is a test of one sentence or two.
type testCase struct {
	name string
	run  func(f *fixture)
}

var cases = slices.Concat(addCases, takeCases, settleCases, queueCases, forgetCases, listCases, lifeCases, clockCases, roundCases)

// start is the time at which every test begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var identity = store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash", Unicode: "15.0.0"}

// fixture is a test with a store and its clock.
type fixture struct {
	*testing.T
	b   Backend
	s   store.Store
	env Env
	ctx context.Context
	*clock
}

func newFixture(t *testing.T, b Backend, keep bool) *fixture {
	c := &clock{now: start}
	f := &fixture{T: t, b: b, ctx: t.Context(), clock: c}
	f.env = Env{Clock: c.Now, KeepURLs: keep}
	f.s = b.Open(t, f.env)
	t.Cleanup(func() {
		if err := f.s.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("cannot close: %v", err)
		}
	})
	f.check(f.s.Prepare(f.ctx, store.Terms{Identity: identity}))
	return f
}

// reopen opens and prepares the store again, or skips the test.
func (f *fixture) reopen() {
	f.Helper()
	f.restart()
	f.check(f.s.Prepare(f.ctx, store.Terms{Identity: identity}))
}

// restart opens the store again, or skips the test.
func (f *fixture) restart() {
	f.Helper()
	if f.b.Reopen == nil {
		f.Skip("the store doesn't outlive its process")
	}
	f.s = f.b.Reopen(f.T, f.s, f.env)
}

// other opens and prepares the store once more, for its other user, or returns nil.
func (f *fixture) other() store.Store {
	if f.b.Other == nil {
		return nil
	}
	s := f.b.Other(f.T, f.s, f.env)
	f.Cleanup(func() { f.check(s.Close()) })
	f.check(s.Prepare(f.ctx, store.Terms{Identity: identity}))
	return s
}

// key returns the nth of many keys that are spread over the key space.
func key(n int) (k store.Key) {
	binary.BigEndian.PutUint64(k[:], uint64(n+1)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(k[8:], uint64(n+1)*0xbf58476d1ce4e5b9)
	return k
}

// check fails the test on an error.
func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// wantErr fails the test unless the error is the wanted one.
func (f *fixture) wantErr(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("got error %v; want %v", err, want)
	}
}

// wantInvalid fails the test unless the error of a call is ErrInvalid.
func (f *fixture) wantInvalid(call string, err error) {
	f.Helper()
	if !errors.Is(err, store.ErrInvalid) {
		f.Fatalf("%s: got error %v; want %v", call, err, store.ErrInvalid)
	}
}

// equal fails the test unless both are equal.
func equal[T comparable](f *fixture, what string, got, want T) {
	f.Helper()
	if got != want {
		f.Fatalf("got %s %v; want %v", what, got, want)
	}
}
