package wire

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[Moment]time.Time{
		"":                     {},
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00Z": time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		"30d":                  now.AddDate(0, 0, -30),
		"1d12h":                now.Add(-36 * time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
		"0s":                   now,
	} {
		got, err := text.At(now)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
		if back, err := MomentOf(want).At(now); err != nil || !back.Equal(want) {
			t.Errorf("%q: got %v back, %v; want %v", text, back, err, want)
		}
	}
	for _, text := range []Moment{"7", "d", "-1d", "-5m", "5m ", "1d-5h", "yesterday", "99999d", "2026-13-01", "9223372036854775807h"} {
		if got, err := text.At(now); err == nil {
			t.Errorf("%q: got %v; want an error", text, got)
		}
	}
}
