package frontier

import "testing"

// FuzzCanonicalTwins holds that a URL and its canonical form, in either order
// or in one batch, are queued once, and that nothing stops a batch.
func FuzzCanonicalTwins(f *testing.F) {
	for _, seed := range []string{"http://a.example", "HTTP://A.example:80/%7e?b&a#c", "https://bücher.example/ä b?q=ü", "ftp://x/..//y", "mailto:x", "", "http://[::1]/", "\x00", "http://1.2/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		fr := open(t, Options{Traps: Traps{Off: true}, Delay: -1, MaxInFlight: -1})
		first := addOne(t, fr, Link{URL: raw})
		results := addAll(t, fr, Link{URL: "http://other.example/"}, Link{URL: first.Canonical}, Link{URL: raw})
		if first.Status == StatusRefused {
			if results[2].Status != StatusRefused || results[0].Status == StatusRefused {
				t.Fatalf("%q: got %+v after a refusal; want it refused again and its batch untouched", raw, results)
			}
			return
		}
		if first.Status != StatusNew || results[1].Status != StatusDuplicate || results[2].Status != StatusDuplicate || results[1].Key != first.Key {
			t.Fatalf("%q: got %+v, then %+v; want it new once", raw, first, results)
		}
		stats, err := fr.Stats(bg, "")
		if must(t, err); stats.Held > 2 {
			t.Fatalf("%q: got %d URLs held; want it queued once", raw, stats.Held)
		}
		for range stats.Held {
			if l := leaseOne(t, fr); l.URL != raw && l.URL != "http://other.example/" {
				t.Fatalf("got %q handed out; want it as found", l.URL)
			}
		}
	})
}
