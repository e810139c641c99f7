package foreign

import (
	"strings"
	"testing"

	"github.com/firstseen/firstseen/internal/whatwg"
)

func TestPyLower(t *testing.T) {
	for in, want := range map[string]string{
		"ABCé": "abcé", "İ": "i̇", "Σ": "σ", "ΑΣ": "ας", "ΑΣ.Β": "ασ.β", "ΑΣΒ": "ασβ", "Α.Σ:": "α.ς:", "\xffA": "\xffa",
	} {
		if got := pyLower(in); got != want {
			t.Errorf("%q: got %q; want %q", in, got, want)
		}
	}
}

func TestUnescapeFullyIsRepeatedUnescape(t *testing.T) {
	for _, s := range []string{"", "%", "%25%32%35", "%2525252541", "%%32%35", "%%%34%31", "%2%35%341", "%25%25%2541%2", "a%zz%4%31"} {
		want := s
		for next := whatwg.Unescape(want); next != want; next = whatwg.Unescape(want) {
			want = next
		}
		if got := unescapeFully(s); got != want {
			t.Errorf("%q: got %q; want %q", s, got, want)
		}
	}
	if got := unescapeFully(strings.Repeat("%25", 1) + strings.Repeat("25", 500_000) + "41"); got != "A" {
		t.Errorf("got %.20q; want A", got)
	}
}
