package sched

import (
	"cmp"
	"math"
	"time"
)

// Never is later than any time.
const Never int64 = math.MaxInt64

// maxMs is the latest time kept, in the year 6429: 47 bits of milliseconds.
const maxMs = 1<<47 - 1

// Ms returns t in milliseconds, rounded up so that nothing happens early, and
// within 1 ms and the latest time kept. The zero time is 0.
func Ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	up := t.Add(time.Millisecond - time.Nanosecond)
	return min(max(up.UnixMilli(), 1), maxMs)
}

// MsOr is [Ms] with another answer for the zero time.
func MsOr(t time.Time, zero int64) int64 {
	if t.IsZero() {
		return zero
	}
	return Ms(t)
}

// Now returns a clock's time in milliseconds, rounded down.
func Now(t time.Time) int64 { return min(max(t.UnixMilli(), 1), maxMs) }

// Time is the inverse of [Ms]. [Never] is the zero time, too.
func Time(ms int64) time.Time {
	if ms <= 0 || ms == Never {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// DurMs returns a duration in milliseconds, rounded away from zero.
func DurMs(d time.Duration) int64 {
	whole := d.Truncate(time.Millisecond)
	return whole.Milliseconds() + int64(cmp.Compare(d, whole))
}
