package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Moment is a time as users write it: 2026-01-31T12:00:00Z, a day of UTC as 2026-01-31, or an age such as 30d, 12h or 1d12h, so long ago.
type Moment string

// At returns the time, the zero time for "".
func (m Moment) At(now time.Time) (time.Time, error) {
	if m == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, string(m)); err == nil {
			return t, nil
		}
	}
	age, err := ParseAge(string(m))
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read time; got %.40q; want a day as 2026-01-31, a time as 2026-01-31T12:00:00Z, or an age as 30d, 12h or 10m", string(m))
	}
	return now.Add(-age), nil
}

// ParseAge reads an age as users write it: 30d, 12h, 1d12h.
func ParseAge(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	age := time.Duration(0)
	if (rest != "" || !found) && err == nil {
		age, err = time.ParseDuration(rest)
	}
	if err != nil || age < 0 {
		return 0, fmt.Errorf("cannot read age; got %.40q; want one as 30d, 12h or 10m", text)
	}
	return age + time.Duration(n)*24*time.Hour, nil
}

// MomentOf is the inverse of At, "" for the zero time.
func MomentOf(t time.Time) Moment {
	if t.IsZero() {
		return ""
	}
	return Moment(t.Format(time.RFC3339Nano))
}
