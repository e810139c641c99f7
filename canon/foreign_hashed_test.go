package canon

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
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
			if _, _, err := AppendHashed(nil, []byte(r.Input), HashedOptions{}); !errors.Is(err, ErrURL) {
				t.Errorf("%s: %q: got error %v; want %v", r.ID, r.Input, err, ErrURL)
			}
			return
		}
		for _, c := range []struct {
			name, want string
			o          HashedOptions
		}{
			{"basic", r.Basic, HashedOptions{}},
			{"n", r.N, HashedOptions{Variant: HashedVariantN}},
			{"p", r.P, HashedOptions{Variant: HashedVariantP}},
			{"n_literal", r.NLiteral, HashedOptions{Variant: HashedVariantN, Literal: true}},
			{"p_literal", r.PLiteral, HashedOptions{Variant: HashedVariantP, Literal: true}},
		} {
			got, parts, err := AppendHashed([]byte("kept "), []byte(r.Input), c.o)
			if string(got) != "kept "+c.want || parts != (HashedParts{}) || err != nil {
				t.Errorf("%s: %s of %q: got %q, %v, %v; want %q (rulings %v)", r.ID, c.name, r.Input, got, parts, err, c.want, r.Rulings)
			}
		}
	})
}

func TestHashedKeepsPartsOnRequest(t *testing.T) {
	both := func(v HashedVariant) HashedOptions {
		return HashedOptions{Variant: v, KeepQuery: true, KeepFragment: true}
	}
	for _, c := range []struct {
		in    string
		o     HashedOptions
		want  string
		parts HashedParts
	}{
		{"http://h/?Q=%41#F", both(HashedBasic), "http://h/?Q=%41#F", HashedParts{true, true}},
		{"http://h/?Q=%41#F", both(HashedVariantN), "http://h/?Q=A#F", HashedParts{true, true}},
		{"http://h/?Q=%41#F", both(HashedVariantP), "http://h?q=a#f", HashedParts{true, true}},
		{"http://h/?Q=%41#F", HashedOptions{Variant: HashedVariantN, KeepQuery: true, Literal: true}, "http://h/?Q=%41", HashedParts{Query: true}},
		{"http://h/?Q#F", HashedOptions{Variant: HashedVariantN, KeepFragment: true}, "http://h/#F", HashedParts{Fragment: true}},
		{"http://h/?#", both(HashedBasic), "http://h/?#", HashedParts{true, true}},
		{"http://h/?#", both(HashedVariantN), "http://h/", HashedParts{}},
		{"http://h/#a?b", both(HashedVariantN), "http://h/#a?b", HashedParts{Fragment: true}},
		{"mailto:X@y?S#F", both(HashedVariantP), "mailto:X@y?S#F", HashedParts{Fragment: true}},
		{"http://h", both(HashedVariantN), "http://h", HashedParts{}},
	} {
		got, parts, err := AppendHashed(nil, []byte(c.in), c.o)
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
		if s[i] == '%' && !isEscape(s, i) {
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
		o := HashedOptions{Variant: HashedVariant(bits % 3), KeepQuery: bits&4 != 0, KeepFragment: bits&8 != 0, Literal: bits&16 != 0}
		before := bytes.Clone(raw)
		once, _, err := AppendHashed(nil, raw, o)
		if !bytes.Equal(raw, before) {
			t.Fatalf("input changed from %q to %q", before, raw)
		}
		if err != nil {
			return
		}
		if len(once) > len(raw) {
			t.Errorf("%q: got %q; want nothing longer", raw, once)
		}
		twice, _, err := AppendHashed(nil, once, o)
		if err != nil {
			t.Errorf("%q: canonical form %q: %v", raw, once, err)
		}
		if o.Variant == HashedVariantP || o.Variant == HashedVariantN && (hasStrayPercent(raw) || !tame.Match(raw)) {
			return
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("%q with %+v: got %q, then %q; want no change", raw, o, once, twice)
		}
	})
}
