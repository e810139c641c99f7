package sched

import (
	"fmt"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

const (
	// jitter is how far a time service may set a correct clock back.
	jitter = time.Minute
	// gap is the longest time between two readings that is never in doubt.
	gap = 24 * time.Hour
	// proof is how long a clock that jumped must run before it counts as right.
	proof = time.Hour
)

// Clock follows a wall clock and decides whether it is right enough to forget by it.
//
// Keys are stamped with wall time, and a sweep forgets those that are too old. A
// clock that is wrong for a minute must not make a sweep forget everything. So a
// store keeps the latest time that its clock was right at, across restarts, and a
// sweep compares the clock with it:
//
//   - If the clock is neither behind that time nor ahead of it by more than a day or
//     an eighth of the age, it is right.
//   - Otherwise it is in doubt. If it then runs for an hour of monotonic time without
//     another jump, it counts as right.
//   - If it counts as right and was ahead, a sweep still moves on by no more than an
//     eighth of the age, the span of one generation, each hour. So an operator has
//     hours in which to notice the message and set the clock.
//
// The zero value has never read it. It is not safe for concurrent use.
type Clock struct {
	latest time.Time // when it was last right
	doubt  *reading  // the first reading after a jump, or after the last hour; nil: none
	// until is the time that latest moves to, in steps, after a jump forward was accepted;
	// the zero time: nowhere.
	until time.Time
}

// reading is the wall clock beside a monotonic one.
type reading struct {
	wall time.Time
	mono time.Duration
}

// Latest returns the latest time at which the clock was right; a store keeps it.
func (c *Clock) Latest() time.Time { return c.latest }

// Restore sets what Latest returned in an earlier process.
func (c *Clock) Restore(latest time.Time) { *c = Clock{latest: latest.Round(0)} }

// Stamp returns the time to record a key with: now, and never before Latest. So a key
// that is recorded while the clock is behind does not look old. It follows the clock as
// far as that needs no age.
func (c *Clock) Stamp(now time.Time, mono time.Duration) time.Time {
	now = now.Round(0) // its monotonic reading would hide a jump
	ahead := now.Sub(c.latest)
	switch {
	case c.follow(now, ahead, gap):
	case ahead < 0 && c.doubts(reading{now, mono}) <= 0:
		c.latest, c.doubt = now, nil
	}
	if now.Before(c.latest) {
		return c.latest
	}
	return now
}

// Judge returns the time from which a sweep may count an age back. While the clock is
// in doubt it returns store.ErrClock.
func (c *Clock) Judge(now time.Time, mono, age time.Duration) (time.Time, error) {
	now = now.Round(0)
	ahead := now.Sub(c.latest)
	if c.follow(now, ahead, max(gap, age/8)) {
		return c.latest, nil
	}
	at := reading{now, mono}
	left := c.doubts(at)
	if accepted := !c.until.IsZero(); accepted && left > jitter {
		return c.latest, nil
	} else if !accepted && left > 0 {
		return time.Time{}, doubted(ahead, left)
	}
	c.doubt = &at
	c.accept(now, age)
	return c.latest, nil
}

// follow takes a clock that is ahead by no more than the given time as right, and
// reports whether it is.
func (c *Clock) follow(now time.Time, ahead, most time.Duration) bool {
	if !c.latest.IsZero() && (ahead < -jitter || ahead > most) {
		return false
	}
	c.doubt, c.until = nil, time.Time{}
	if ahead > 0 {
		c.latest = now
	}
	return true
}

// doubts returns how much longer a clock that jumped has to run.
func (c *Clock) doubts(at reading) time.Duration {
	if c.doubt == nil || c.doubt.jumped(at) {
		c.doubt, c.until = &at, time.Time{}
	}
	return proof - (at.mono - c.doubt.mono)
}

// accept takes the clock as right. What was recorded before a jump forward is old
// after nine steps of an eighth of the age; then nothing is left to be careful with.
func (c *Clock) accept(now time.Time, age time.Duration) {
	step := age / 8
	if c.until.IsZero() {
		c.until = c.latest.Add(age + step)
	}
	next := c.latest.Add(step)
	if now.Before(next) || !next.Before(c.until) {
		next = now
	}
	c.latest = next
}

// jumped reports whether the wall clock was set between two readings.
func (r *reading) jumped(at reading) bool {
	d := at.wall.Sub(r.wall) - (at.mono - r.mono)
	return d.Abs() > jitter
}

func doubted(ahead, left time.Duration) error {
	how := fmt.Sprintf("%v ahead of", ahead.Round(time.Second))
	if ahead < 0 {
		how = fmt.Sprintf("%v behind", -ahead.Round(time.Second))
	}
	return fault.As(store.ErrClock, "cannot forget by age: the clock is %s its last trusted time; set it, or wait %v: then it is trusted",
		how, left.Round(time.Second))
}
