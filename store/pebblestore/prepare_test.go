package pebblestore

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestPrepareIsDurable cuts the power after Prepare.
func TestPrepareIsDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, "db", Options{FS: fs})
	defer s.Close()
	if err := s.Prepare(t.Context(), store.Terms{Identity: testIdentity}); err != nil {
		t.Fatal(err)
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	s = mustOpen(t, "db", Options{FS: left})
	defer s.Close()
	if got := s.Identity(); got != testIdentity {
		t.Errorf("got %v; want %v", got, testIdentity)
	}
}

func TestPrepareOfAReadOnlyStoreWritesNothing(t *testing.T) {
	fs := vfs.NewMem()
	if err := openFor(t, "db", testIdentity, Options{FS: fs}).Close(); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, "db", Options{FS: fs, Mode: OpenReadOnly})
	defer s.Close()
	if err := s.Prepare(t.Context(), store.Terms{Identity: testIdentity}); err != nil {
		t.Error(err)
	}
	other := testIdentity
	other.Profile = "whatwg"
	if err := s.Prepare(t.Context(), store.Terms{Identity: other}); !errors.Is(err, store.ErrIdentity) {
		t.Errorf("got %v; want %v", err, store.ErrIdentity)
	}
}

// TestRetentionSetsTheGeneration: the shortest retention counts, and an option before it.
func TestRetentionSetsTheGeneration(t *testing.T) {
	for _, tt := range []struct {
		name string
		opt  time.Duration
		want int64 // keys forgotten an hour after they were seen
	}{
		{"by the shortest", 0, 10},
		{"by the option", 24 * time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := newStepClock()
			s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Clock: clock.Now, tuning: tuning{generation: tt.opt}})
			defer s.Close()
			for _, retention := range []time.Duration{0, time.Hour, 1000 * time.Hour} {
				if err := s.Prepare(t.Context(), store.Terms{Retention: retention}); err != nil {
					t.Fatal(err)
				}
			}
			see(t, s, "", testKeys(0, 10))
			clock.step(10 * time.Minute)
			see(t, s, "", testKeys(10, 20))
			clock.step(55 * time.Minute)
			n, err := s.Forget(t.Context(), store.Selection{Before: clock.Now().Add(-time.Hour)})
			if err != nil || n != tt.want {
				t.Errorf("got %d forgotten, %v; want %d", n, err, tt.want)
			}
		})
	}
}
