package foreign

import (
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

func TestSURTIsSurt(t *testing.T) { checkOracle(t, "surt", SURT, surtException) }

// surtException names the rows in which SURT is known to differ: CPython orders marks
// that came after Unicode 3.2 in a host, although its normalization of 3.2 ought not to
// know them.
func surtException(r oracleRow) string {
	u, err := splitSURT(r.Input)
	if err != nil {
		return ""
	}
	var before rune
	for _, c := range unescapeFully(u.host) {
		for _, d := range norm.NFKD.String(pyLower(string(c))) {
			if markClass(d) > 0 && markClass(before) > markClass(d) && (unicode.Is(unassigned32, d) || unicode.Is(unassigned32, before)) {
				return "marks newer than Unicode 3.2, out of order"
			}
			before = d
		}
	}
	return ""
}

func markClass(c rune) uint8 { return norm.NFC.PropertiesString(string(c)).CCC() }

func TestSURTStepByStep(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"http://www.Example.com:80/A/?b=2&A=1#top", "com,example)/a?a=1&b=2", "the usual case"},
		{"https://user:pw@example.com:8443/", "com,example:8443)/", "another port stays"},
		{"http://www.www.a.com", "com,a,www)/", "one www goes"},
		{"http://www2.a.com", "com,a)/", "with a number too"},
		{"http://192.168.0.1/", "1,0,168,192)/", "addresses are reversed like names"},
		{"http://2130706433/", "1,0,0,127)/", "a lone number is an address"},
		{"http://a.com/x/../y/./", "com,a)/y", "dots and the slash at the end go"},
		{"http://a.com/..", "com,a)/..", "dots at the root stay"},
		{"http://a.com/%2525%2541", "com,a)/%25a", "escapes are decoded until none is left"},
		{"http://a.com/?x=1&sid=0123456789abcdef0123456789abcdef", "com,a)/?&x=1", "a session id goes and leaves its separator"},
		{"http://a.com/(S(0123456789abcdefghijklmn))/b.aspx", "com,a)/b.aspx", "ASP.NET's goes from the path"},
		{"http://a.com/b;jsessionid=0123456789abcdef0123456789abcdef", "com,a)/b;jsessionid=0123456789abcdef0123456789abcdef", "Java's does not"},
		{"http://https://a.com/", "com,a)/", "the last of two schemes counts"},
		{"a.com/b", "com,a)/b", "http is assumed"},
		{"mailto:A@b.com", "mailto:a@b.com", "no authority, no reversal"},
		{"", "-", "nothing"},
		{"filedesc:X", "filedesc:X", "the first record of an ARC file"},
	} {
		if got, err := SURT(c.in); got != c.want || err != nil {
			t.Errorf("%s: %q: got %q, %v; want %q", c.why, c.in, got, err, c.want)
		}
	}
}
