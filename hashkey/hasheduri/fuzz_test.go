package hasheduri

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzParse: what parses prints as a URI that parses to the same, and prints the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"hashed:md5=cd933f3b87ee60e58917448c9678ee32+query+FRAG", "HASHED:X-a.b=0", "hashed:=", "hashed:sha1=+", "hashed:md5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := Parse(s)
		if err != nil {
			if code(err) == "an error without a Reason" || u != (URI{}) {
				t.Errorf("%q: got %v, %v; want a Reason and nothing else", s, u, err)
			}
			return
		}
		text := u.String()
		if back, err := Parse(text); back != u || err != nil || back.String() != text {
			t.Errorf("%q: got %v, then %v, %v", s, u, back, err)
		}
		if !strings.HasPrefix(strings.ToLower(s), "hashed:"+u.Algorithm+"="+u.Hash) {
			t.Errorf("%q: got %v; want what it says", s, u)
		}
	})
}

// FuzzSum checks that a URI matches its own hash, through the text and through a list.
func FuzzSum(f *testing.F) {
	f.Add("http://U@H:080/a%62c//index.html?q#f", uint8(1))
	f.Add("http://a/b/g?#", uint8(12))
	f.Add("mailto:a@b#c", uint8(26))
	f.Fuzz(func(t *testing.T, uri string, bits uint8) {
		h := Hasher{Variant: Variant(bits % 3), KeepQuery: bits&4 != 0, KeepFragment: bits&8 != 0, Literal: bits&16 != 0, Algorithm: "x-sha256"}
		u, err := h.Sum(uri)
		if err != nil {
			return
		}
		back, err := Parse(u.String())
		if back != u || err != nil {
			t.Fatalf("%v: got %v, %v", u, back, err)
		}
		// A flag that was not set because there was nothing to keep does not change the form.
		if ok, err := h.Match(back, uri); !ok || err != nil {
			t.Errorf("%q with %d: %v does not match: %v", uri, bits, u, err)
		}
		l, err := ReadList(bytes.NewReader(u.Append(nil)), h)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := (&Hasher{Variant: h.Variant, Literal: h.Literal}).Match(u, uri); err == nil {
			if _, got := l.Match(uri); got != want || want && !l.Excluded(uri) {
				t.Errorf("%q: the list says %t, Match %t", uri, got, want)
			}
		}
	})
}
