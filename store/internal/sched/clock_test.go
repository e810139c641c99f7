package sched

import (
	"errors"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// world is a machine whose wall clock can be set.
type world struct {
	*testing.T
	Clock
	wall time.Time
	mono time.Duration
}

const (
	day = 24 * time.Hour
	age = 64 * day
)

func newWorld(t *testing.T) *world {
	w := &world{T: t, wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Stamp(w.wall, w.mono)
	return w
}

func (w *world) run(d time.Duration) { w.wall, w.mono = w.wall.Add(d), w.mono+d }

func (w *world) set(d time.Duration) { w.wall = w.wall.Add(d) }

func (w *world) wantDoubt() {
	w.Helper()
	if at, err := w.Judge(w.wall, w.mono, age); !errors.Is(err, store.ErrClock) {
		w.Errorf("got %v, %v; want the clock in doubt", at, err)
	}
}

// wantTrust wants a clock that counts as right, and ages counted back from so long ago.
func (w *world) wantTrust(ago time.Duration) {
	w.Helper()
	if at, err := w.Judge(w.wall, w.mono, age); err != nil || w.wall.Sub(at) != ago {
		w.Errorf("got %v, %v; want %v ago", w.wall.Sub(at), err, ago)
	}
}

func TestClockThatRunsIsRight(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		w.run(8 * day)
		w.wantTrust(0)
	}
	w.set(-time.Second)
	w.wantTrust(-time.Second)
}

func TestClockBehindWaitsAnHour(t *testing.T) {
	w := newWorld(t)
	right := w.wall
	w.set(-60 * day)
	if got := w.Stamp(w.wall, w.mono); !got.Equal(right) {
		t.Errorf("got keys stamped %v; want %v", got, right)
	}
	w.wantDoubt()
	w.run(59 * time.Minute)
	w.wantDoubt()
	w.run(time.Minute)
	w.wantTrust(0)
	w.run(time.Hour)
	w.wantTrust(0)
}

// TestClockBehindIsProvedByWrites checks that a store without sweeps also accepts the clock as right.
func TestClockBehindIsProvedByWrites(t *testing.T) {
	w := newWorld(t)
	right := w.wall
	w.set(-60 * day)
	for range 3 {
		if got := w.Stamp(w.wall, w.mono); !got.Equal(right) {
			t.Errorf("got keys stamped %v; want %v", got, right)
		}
		w.run(20 * time.Minute)
	}
	if got := w.Stamp(w.wall, w.mono); !got.Equal(w.wall) {
		t.Errorf("got keys stamped %v after an hour; want %v", got, w.wall)
	}
}

func TestClockPutRightIsRightAtOnce(t *testing.T) {
	for _, by := range []time.Duration{-60 * day, 60 * day} {
		w := newWorld(t)
		w.set(by)
		w.Stamp(w.wall, w.mono)
		w.wantDoubt()
		w.run(30 * time.Minute)
		w.set(-by)
		w.wantTrust(0)
	}
}

func TestClockSetAgainBeginsAnotherHour(t *testing.T) {
	w := newWorld(t)
	w.set(60 * day)
	w.wantDoubt()
	w.run(59 * time.Minute)
	w.set(60 * day)
	w.wantDoubt()
	w.run(59 * time.Minute)
	w.wantDoubt()
}

// TestClockAheadMovesOnByGenerations: once the clock counts as right, an eighth of the
// age passes each hour, until nothing is left that is older than the jump.
func TestClockAheadMovesOnByGenerations(t *testing.T) {
	const jump = 400 * day
	w := newWorld(t)
	w.set(jump)
	w.wantDoubt()
	behind := time.Duration(jump)
	for range 8 {
		w.run(time.Hour)
		behind += time.Hour - age/8
		w.wantTrust(behind)
		w.run(time.Minute)
		w.wantTrust(behind + time.Minute)
		behind += time.Minute
	}
	w.run(time.Hour)
	w.wantTrust(0)
}

// TestRestartDoubtsAgain checks that the latest time is on disk, and not the hour of waiting.
func TestRestartDoubtsAgain(t *testing.T) {
	w := newWorld(t)
	w.set(60 * day)
	w.wantDoubt()
	w.run(59 * time.Minute)
	w.Restore(w.Latest())
	w.wantDoubt()
	w.run(2 * time.Hour)
	w.wantTrust(60*day + 3*time.Hour - time.Minute - age/8)
}
