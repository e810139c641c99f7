package canon

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wptRow is a row of the Web Platform Tests' data for URLs.
type wptRow struct {
	Input, Href, Output string
	Failure             bool
}

func eachWPTRow(t *testing.T, name string, f func(t *testing.T, r wptRow)) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "wpt", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r wptRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows++
		f(t, r)
	}
	if err := lines.Err(); err != nil || rows == 0 {
		t.Fatalf("got %d rows, %v; want some", rows, err)
	}
	t.Logf("%s: %d rows", name, rows)
}

// TestWebPlatformURLs holds the whatwg profile equal to every row without a base, of all
// schemes, and qiita to what these refuse: it refuses the same of http, https and ftp.
func TestWebPlatformURLs(t *testing.T) {
	schemes := map[string]int{}
	eachWPTRow(t, "urltestdata", func(t *testing.T, r wptRow) {
		got, err := WHATWG().Canonicalize(r.Input)
		if (err != nil) != r.Failure || got != r.Href {
			t.Errorf("whatwg of %q: got %q, %v; want %q, failure %t", r.Input, got, err, r.Href, r.Failure)
		}
		form, err := Qiita().Canonicalize(r.Input)
		scheme, _, _ := strings.Cut(r.Href, ":")
		schemes[scheme]++
		if r.Failure != (Code(err) == "url") && (r.Failure || isQiitas(scheme)) {
			t.Errorf("qiita of %q: got %q, %v; want failure %t", r.Input, form, err, r.Failure)
		}
	})
	t.Logf("http %d, https %d, ftp %d, failures %d", schemes["http"], schemes["https"], schemes["ftp"], schemes[""])
}

// isQiitas reports whether qiita takes a scheme.
func isQiitas(scheme string) bool { return scheme == "http" || scheme == "https" || scheme == "ftp" }

// otherHosts are the rows that say something else than the standard does of their URL, with
// the form that is right.
var otherHosts = map[string]string{
	"":                                    "https://x/",                            // without a host, the path begins with it
	"\U0003e8ac\u3002\u0729\u3002\ucbd95": "https://xn--t92s.xn--znb.xn--5-y88f/x", // U+3E8AC is assigned since Unicode 18; the rows are of 17
	"\U0003e8ac\u3002\u0729\u3002\u110d\u1173\u11ac5": "https://xn--t92s.xn--znb.xn--5-y88f/x", // the same, decomposed
}

// TestWebPlatformHosts holds the host of both profiles equal to what the tests of the
// domain parser want.
func TestWebPlatformHosts(t *testing.T) {
	for _, name := range []string{"toascii", "IdnaTestV2"} {
		eachWPTRow(t, name, func(t *testing.T, r wptRow) {
			for _, p := range []*Profile{WHATWG(), Qiita()} {
				want := ""
				if !r.Failure {
					want = "https://" + r.Output + "/x"
				}
				if form, ok := otherHosts[r.Input]; ok {
					want, r.Failure = form, false
				}
				got, err := p.Canonicalize("https://" + r.Input + "/x")
				if (err != nil) != r.Failure || got != want {
					t.Errorf("%s: %s of host %q: got %q, %v; want %q, failure %t", name, p, r.Input, got, err, want, r.Failure)
				}
			}
		})
	}
}
