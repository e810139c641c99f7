package pebblestore

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// TestKnownIsLookup compares Known with the recorded keys, by the index and by runs alone,
// also across the end of a step.
func TestKnownIsLookup(t *testing.T) {
	for _, budget := range []int64{0, -1} {
		s, err := openPrepared(t.TempDir(), Options{IndexBytes: budget, tuning: tuning{flushKeys: 5000}})
		if err != nil {
			t.Fatal(err)
		}
		const n = 3 * seenOfRow * firstRows / 2
		keys := make([]store.Key, n)
		for i := range keys {
			binary.BigEndian.PutUint64(keys[i][:], uint64(i)*0x9e3779b97f4a7c15)
		}
		for at := 0; at < n; at += 1000 {
			var odd []store.Key
			for i := at; i < min(at+1000, n); i++ {
				if i%2 == 1 {
					odd = append(odd, keys[i])
				}
			}
			if err := s.See(t.Context(), "c", odd, make([]bool, len(odd)), store.SeeOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		known := make([]bool, n)
		if err := s.Known(t.Context(), "c", keys, known); err != nil {
			t.Fatal(err)
		}
		for i := range known {
			if known[i] != (i%2 == 1) {
				t.Fatalf("budget %d, key %d: got known %v", budget, i, known[i])
			}
		}
		if err := s.Known(t.Context(), "other", keys[:3], known[:3]); err != nil || known[1] {
			t.Errorf("got %v, %v; want nothing known of another crawl", known[1], err)
		}
		if err := s.Known(t.Context(), "c", keys, known[:1]); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("got %v; want slices of another length refused", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Known(t.Context(), "c", keys, known); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
	}
}
