package uts46

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"unicode/utf8"
)

func TestToASCII(t *testing.T) {
	for domain, want := range map[string]string{
		"faß.de":                   "xn--fa-hia.de",
		"ẞ.com":                    "xn--zca.com",
		"日本語。ＪＰ":                   "xn--wgv71a119e.jp",
		"a\u00adb":                 "ab",
		"\u00ad":                   "",
		"ab\u0301":                 "xn--ab-9tb", // no composite for b and acute
		"a\u0301":                  "xn--1ca",
		"\u1112\u1161\u11ab":       "xn--6q8b", // 한
		"a\u0327\u0301":            "xn--1ca87i",
		"a\u0301\u0327":            "xn--1ca87i", // marks in another order
		"\u0915\u094d\u200d\u0937": "xn--11b2ezcw70k",
		"\u0628\u200c\u0628":       "xn--ngba799q",
		"xn--fa-hia.ß":             "xn--fa-hia.xn--zca",
		"אב.a1":                    "xn--4dbc.a1",
		"≠":                        "xn--1ch",
		"é..":                      "xn--9ca..",
	} {
		got, err := ToASCII(domain)
		if err != nil || got != want {
			t.Errorf("%+q: got %q, %v; want %q", domain, got, err, want)
		}
	}
	for domain, why := range map[string]string{
		"a\u05d0b":          "a Hebrew letter between Latin ones",
		"a\u2135b":          "which maps to the same",
		"0a.\u05d0":         "a label of a Bidi domain that begins with a digit",
		"\u05d01\u0661":     "European and Arabic digits in one label",
		"\u0301é":           "a mark at the beginning",
		"a\u200cé":          "a joiner that joins nothing",
		"\u200dé":           "a joiner at the beginning",
		"xn--a.ß":           "no Punycode",
		"xn--.ß":            "an encoded label of nothing",
		"xn--abc-.ß":        "an encoded label of ASCII",
		"xn--xn---epa.ß":    "an encoded label that is encoded again",
		"xn--u-ccb.ß":       "an encoded label that is not in form NFC",
		"xn--99999999999.ß": "an overflow",
		"\ufffd":            "U+FFFD",
		"\u0378":            "an unassigned code point",
	} {
		if got, err := ToASCII(domain); err == nil {
			t.Errorf("%+q, %s: got %q; want an error", domain, why, got)
		}
	}
}

// TestResultMapsToItself maps every code point in four contexts. Each result must map to itself, or a
// parser that checks ASCII hosts would refuse our forms.
func TestResultMapsToItself(t *testing.T) {
	accepted := 0
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) || value(r) == disallowed {
			continue
		}
		c := string(r)
		for _, domain := range []string{c, "a" + c + "b", "\u05d0" + c + "\u05d1", "é." + c + "1"} {
			ascii, err := ToASCII(domain)
			if err != nil {
				continue
			}
			accepted++
			if again, err := ToASCII(ascii); err != nil || again != ascii {
				t.Errorf("%+q: got %q, of which comes %q, %v", domain, ascii, again, err)
			}
		}
	}
	t.Logf("%d domains", accepted)
}

// FuzzToASCII: no panic, and a result that maps to itself.
func FuzzToASCII(f *testing.F) {
	for _, s := range []string{"faß.de", "xn--fa-hia.ß", "\u0915\u094d\u200d", "אב.xn--4dbc", "xn--0", "a\u0301\u0327.한"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, domain string) {
		if len(domain) > 1000 || !utf8.ValidString(domain) {
			return
		}
		ascii, err := ToASCII(domain)
		if err != nil {
			return
		}
		if again, err := ToASCII(ascii); err != nil || again != ascii {
			t.Errorf("%+q: got %q, of which comes %q, %v", domain, ascii, again, err)
		}
	})
}

// TestTablesAreFresh makes the tables again, where FIRSTSEEN_UNICODE_PYTHON is a Python with
// the packages of requirements.txt.
func TestTablesAreFresh(t *testing.T) {
	python := os.Getenv("FIRSTSEEN_UNICODE_PYTHON")
	if python == "" {
		t.Skip("needs FIRSTSEEN_UNICODE_PYTHON, a Python with the packages of requirements.txt")
	}
	out, err := exec.Command("sh", "-c", python+" make_tables.py | gofmt").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile("tables.go"); err != nil || !bytes.Equal(out, want) {
		t.Errorf("tables.go is not what make_tables.py writes (%v); run go generate", err)
	}
}
