package canon

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/firstseen/firstseen/internal/hashedform"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// hashedRow is a row of the set hashed_uri.
type hashedRow struct {
	ID, Input, Error string
	Basic, N, P      string
	NLiteral         string   `json:"n_literal"`
	PLiteral         string   `json:"p_literal"`
	Rulings          []string `json:"rulings"`
}

func TestHashedVectors(t *testing.T) {
	eachRow(t, "hashed_uri", func(t *testing.T, r hashedRow) {
		if r.Error != "" {
			if _, _, err := hashedform.Append(nil, []byte(r.Input), hashedform.Options{}); !errors.Is(err, ErrURL) {
				t.Errorf("%s: %q: got error %v; want %v", r.ID, r.Input, err, ErrURL)
			}
			return
		}
		for _, c := range []struct {
			name, want string
			o          hashedform.Options
		}{
			{"basic", r.Basic, hashedform.Options{}},
			{"n", r.N, hashedform.Options{Variant: hashedform.N}},
			{"p", r.P, hashedform.Options{Variant: hashedform.P}},
			{"n_literal", r.NLiteral, hashedform.Options{Variant: hashedform.N, Literal: true}},
			{"p_literal", r.PLiteral, hashedform.Options{Variant: hashedform.P, Literal: true}},
		} {
			got, parts, err := hashedform.Append([]byte("kept "), []byte(r.Input), c.o)
			if string(got) != "kept "+c.want || parts != (hashedform.Parts{}) || err != nil {
				t.Errorf("%s: %s of %q: got %q, %v, %v; want %q (rulings %v)", r.ID, c.name, r.Input, got, parts, err, c.want, r.Rulings)
			}
		}
	})
}

func TestHashedKeepsPartsOnRequest(t *testing.T) {
	both := func(v hashedform.Variant) hashedform.Options {
		return hashedform.Options{Variant: v, KeepQuery: true, KeepFragment: true}
	}
	for _, c := range []struct {
		in    string
		o     hashedform.Options
		want  string
		parts hashedform.Parts
	}{
		{"http://h/?Q=%41#F", both(hashedform.Basic), "http://h/?Q=%41#F", hashedform.Parts{Query: true, Fragment: true}},
		{"http://h/?Q=%41#F", both(hashedform.N), "http://h/?Q=A#F", hashedform.Parts{Query: true, Fragment: true}},
		{"http://h/?Q=%41#F", both(hashedform.P), "http://h?q=a#f", hashedform.Parts{Query: true, Fragment: true}},
		{"http://h/?Q=%41#F", hashedform.Options{Variant: hashedform.N, KeepQuery: true, Literal: true}, "http://h/?Q=%41", hashedform.Parts{Query: true}},
		{"http://h/?Q#F", hashedform.Options{Variant: hashedform.N, KeepFragment: true}, "http://h/#F", hashedform.Parts{Fragment: true}},
		{"http://h/?#", both(hashedform.Basic), "http://h/?#", hashedform.Parts{Query: true, Fragment: true}},
		{"http://h/?#", both(hashedform.N), "http://h/", hashedform.Parts{}},
		{"http://h/#a?b", both(hashedform.N), "http://h/#a?b", hashedform.Parts{Fragment: true}},
		{"mailto:X@y?S#F", both(hashedform.P), "mailto:X@y?S#F", hashedform.Parts{Fragment: true}},
		{"http://h", both(hashedform.N), "http://h", hashedform.Parts{}},
	} {
		got, parts, err := hashedform.Append(nil, []byte(c.in), c.o)
		if string(got) != c.want || parts != c.parts || err != nil {
			t.Errorf("%q, %+v: got %q, %v, %v; want %q, %v", c.in, c.o, got, parts, err, c.want, c.parts)
		}
	}
}

// tame is what RFC 2396 allows of authorities, with a host: outside it variant N,
// which validates nothing, can make a new authority or port of what remains.
var tame = regexp.MustCompile(`(?s)^[^:]*:([^/]|/([^/]|$)|//([^/?#:@]+@)?([^/?#:@\[\]]+|\[[^/?#@\[\]]*\])(:[0-9]*)?([/?#]|$))`)

func hasStrayPercent(s []byte) bool {
	for i := range s {
		if s[i] == '%' && !whatwg.IsEscape(s, i) {
			return true
		}
	}
	return false
}

// FuzzHashed holds the basic form idempotent for all bytes, and variant N for URIs as
// RFC 2396 writes them. Variant P is not idempotent, by the draft.
func FuzzHashed(f *testing.F) {
	for _, s := range []string{"http://U@H:080/a%62c//index.html?q#f", "x:y", "http://[::0A]:/", "file:///a", "http://h/test/index.html", "http://@@h:00", "http://h/a.jpeg.html"} {
		f.Add([]byte(s), uint8(1))
	}
	eachMutant(func(raw []byte, bits uint32) { f.Add(raw, uint8(bits)) })
	f.Fuzz(func(t *testing.T, raw []byte, bits uint8) {
		o := hashedform.Options{Variant: hashedform.Variant(bits % 3), KeepQuery: bits&4 != 0, KeepFragment: bits&8 != 0, Literal: bits&16 != 0}
		before := bytes.Clone(raw)
		once, _, err := hashedform.Append(nil, raw, o)
		if !bytes.Equal(raw, before) {
			t.Fatalf("input changed from %q to %q", before, raw)
		}
		if err != nil {
			return
		}
		if len(once) > len(raw) {
			t.Errorf("%q: got %q; want nothing longer", raw, once)
		}
		twice, _, err := hashedform.Append(nil, once, o)
		if err != nil {
			t.Errorf("%q: canonical form %q: %v", raw, once, err)
		}
		if o.Variant == hashedform.P || o.Variant == hashedform.N && (hasStrayPercent(raw) || !tame.Match(raw)) {
			return
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("%q with %+v: got %q, then %q; want no change", raw, o, once, twice)
		}
	})
}
