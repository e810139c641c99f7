package hashkey

import (
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/internal/vectors"
)

func TestEveryVectorFileIsOfAKnownSet(t *testing.T) { vectors.CheckKnown(t) }

type urlhashRow struct {
	ID, Input, Canonical, Error, Whatwg string
	Sha256, Display                     string
	Crate                               string `json:"crate_sha384_32"`
	CrateDisplay                        string `json:"crate_display"`
}

// TestUrlhashVectors hashes the canonical form the row names, of every row that has one.
func TestUrlhashVectors(t *testing.T) {
	vectors.Each(t, "urlhash", func(t *testing.T, r urlhashRow) {
		if r.Error == "" {
			checkUrlhash(t, r, []byte(r.Canonical))
		}
	})
}

// TestUrlhashVectorsFromInput starts at the raw URL. It judges the rows on which the url
// crate and the current WHATWG tests agree: elsewhere the canonical form itself is disputed.
func TestUrlhashVectorsFromInput(t *testing.T) {
	whatwg := canon.WHATWG()
	judged := 0
	vectors.Each(t, "urlhash", func(t *testing.T, r urlhashRow) {
		if vectors.AcceptedSince(r.ID) || r.Whatwg != "agree" {
			return
		}
		judged++
		canonical, err := whatwg.AppendCanonical(nil, []byte(r.Input))
		if (err != nil) != (r.Error != "") {
			t.Errorf("%s: %q: got error %v; want %q", r.ID, r.Input, err, r.Error)
		} else if err == nil {
			checkUrlhash(t, r, canonical)
		}
		sum, err1 := SumURL(r.Input)
		crate, err2 := SumURLCrate(r.Input)
		if (err1 != nil) != (r.Error != "") || (err2 != nil) != (r.Error != "") || err1 == nil && (sum.Hex() != r.Sha256 || crate.Hex() != r.Crate) {
			t.Errorf("%s: sums of %q: got %s, %s, %v, %v; want %s, %s, %q", r.ID, r.Input, sum, crate, err1, err2, r.Sha256, r.Crate, r.Error)
		}
	})
	t.Logf("urlhash: %d rows judged", judged)
}

func checkUrlhash(t *testing.T, r urlhashRow, canonical []byte) {
	t.Helper()
	for _, c := range []struct {
		name         string
		got          UrlHash
		hex, display string
	}{
		{"Sum", Sum(canonical), r.Sha256, r.Display},
		{"SumString", SumString(string(canonical)), r.Sha256, r.Display},
		{"UrlHashCrate", UrlHashCrate(canonical), r.Crate, r.CrateDisplay},
	} {
		if c.got.Hex() != c.hex || c.got.Display() != c.display {
			t.Errorf("%s: %s(%q): got %s, %s; want %s, %s", r.ID, c.name, canonical, c.got.Hex(), c.got.Display(), c.hex, c.display)
		}
		back, err := ParseUrlHashDisplay(c.display)
		if back != c.got || err != nil {
			t.Errorf("%s: parse of %s: got %v, %v; want %v", r.ID, c.display, back, err, c.got)
		}
	}
	if got, want := SumShort(canonical).Hex()+SumShortString(string(canonical)).VeryShort().Hex(), r.Sha256[:32]+r.Sha256[:16]; got != want {
		t.Errorf("%s: short forms of %q: got %s; want %s", r.ID, canonical, got, want)
	}
}

func TestUrlprefixVectors(t *testing.T) {
	vectors.Each(t, "urlprefix", func(t *testing.T, r struct {
		Hash, Short     string
		VeryShort       string `json:"very_short"`
		StartsWith      bool   `json:"starts_with"`
		StartsWithJust  bool   `json:"starts_with_just"`
		ShortStartsWith bool   `json:"short_starts_with"`
	}) {
		hash, err1 := ParseUrlHashDisplay(r.Hash)
		short, err2 := ParseUrlShortHashDisplay(r.Short)
		veryShort, err3 := ParseUrlVeryShortHashDisplay(r.VeryShort)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("%+v: got %v, %v, %v; want no errors", r, err1, err2, err3)
		}
		if short.Display() != r.Short || veryShort.Display() != r.VeryShort {
			t.Errorf("display: got %s, %s; want %s, %s", short.Display(), veryShort.Display(), r.Short, r.VeryShort)
		}
		if got := [3]bool{hash.StartsWith(short), hash.StartsWithJust(veryShort), hash.Short().StartsWith(veryShort)}; got != [3]bool{r.StartsWith, r.StartsWithJust, r.ShortStartsWith} {
			t.Errorf("%+v: got %v", r, got)
		}
	})
}
