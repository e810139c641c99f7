package logs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestWild reads files as tools and people make them: the transcripts in testdata/wild, whose answers were written before the reader had
// seen the files. It must print what is there, or refuse; each of the neighbours of a file has the same answer.
func TestWild(t *testing.T) {
	datadriven.Walk(t, "testdata/wild", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			opt := Options{Events: Auto}
			d.MaybeScanArgs(t, "base", &opt.Base)
			d.MaybeScanArgs(t, "scheme", &opt.Scheme)
			d.MaybeScanArgs(t, "field", &opt.URLField)
			text := d.Input + "\n"
			for _, how := range []struct {
				name   string
				change func(string) string
			}{
				{"blank", func(s string) string { return " " + s }},
				{"tabs", func(s string) string { return strings.ReplaceAll(s, "|", "\t") }},
				{"cr", func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }},
				{"crlf", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
				{"mark", func(s string) string { return byteOrderMark + s }},
				{"utf16", utf16LE},
			} {
				if d.HasArg(how.name) {
					text = how.change(text)
				}
			}
			got := wild(t, []byte(text), opt)
			for how, change := range neighbours {
				if d.HasArg("utf16") || d.HasArg("cr") || d.HasArg("mark") && how == "a mark" {
					continue
				}
				if other := wild(t, change([]byte(text)), opt); other != got {
					t.Errorf("%s, %s: got\n%swhere the file itself gives\n%s", d.Pos, how, other, got)
				}
			}
			return got
		})
	})
}

func utf16LE(text string) string {
	out := []byte{0xff, 0xfe}
	for _, r := range text {
		out = append(out, byte(r), byte(r>>8))
	}
	return string(out)
}

// wild returns what a reader says of a file: its records, how many lines were refused, or that it was.
func wild(t *testing.T, text []byte, opt Options) string {
	in, err := Open(t.Context(), "-", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var counts Counts
	var out strings.Builder
	for r, err := range records(in, opt, &counts) {
		var refusal Refusal
		switch {
		case errors.As(err, &refusal):
		case err != nil:
			out.WriteString("error\n")
		case r.Status != 0 && r.Kind == Fetch:
			fmt.Fprintf(&out, "%s %d %s\n", r.Kind, r.Status, r.URL)
		default:
			fmt.Fprintf(&out, "%s %s\n", r.Kind, r.URL)
		}
	}
	if counts.Units != counts.sum() {
		t.Errorf("got %+v; want a sum", counts)
	}
	if counts.Refused > 0 && !strings.HasSuffix(out.String(), "error\n") {
		fmt.Fprintf(&out, "refused %d\n", counts.Refused)
	}
	return out.String()
}

// TestWhatIsLeftOut: what is no page, and rows that may be cut wrongly, give no URL.
func TestWhatIsLeftOut(t *testing.T) {
	const head = "https://s.example/1,200,x\nhttps://s.example/2,200,y\nhttps://s.example/3,404,z\n"
	const read = "fetch 200 https://s.example/1\nfetch 200 https://s.example/2\nfetch 404 https://s.example/3\n"
	for text, want := range map[string]string{
		head + head + "https://s.example/a,b\nhttps://s.example/4,200\n":                read + read + "fetch 200 https://s.example/4\nrefused 1\n", // the comma can be the URL's
		"Source,Destination,Status Code\nhttps://s.example/1,https://s.example/2,301\n": "error\n",                                                  // a map of redirects
		`{"log":{"entries":[{"request":{"method":"GET","url":"https://s.example/1"},"response":{"status":200}},
			{"request":{"method":"GET","url":"data:image/png;base64,AA"},"response":{"status":200}}]}}` + "\n": "fetch 200 https://s.example/1\n",
		`{"url":"mailto:x@s.example","link":"https://s.example/1"}` + "\n" + `{"url":"about:blank","originalUrl":"https://s.example/2"}` + "\n": "fetch https://s.example/1\nfetch https://s.example/2\n",
		"\u00a0\n": "listed \u00a0\n",
		"https://s.example/1\nhttps://s.example/2\nurl\nhttps://s.example/3\n": "listed https://s.example/1\nlisted https://s.example/2\nlisted url\nlisted https://s.example/3\n", // a header of the second of two files
	} {
		if got := wild(t, []byte(text), Options{Events: Auto}); got != want {
			t.Errorf("%s: got\n%swant\n%s", text, got, want)
		}
	}
}
