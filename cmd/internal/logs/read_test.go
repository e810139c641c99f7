package logs

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts compares the records of the logs in testdata, and of text in the transcripts,
// with results that were checked by hand.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var opt Options
			var file, format string
			d.MaybeScanArgs(t, "file", &file)
			d.MaybeScanArgs(t, "format", &format)
			d.MaybeScanArgs(t, "base", &opt.Base)
			d.MaybeScanArgs(t, "field", &opt.URLField)
			links := false
			if d.MaybeScanArgs(t, "links", &links); links {
				opt.Events = Links
			}
			d.MaybeScanArgs(t, "scheme", &opt.Scheme)
			opt.Format = Format(format)
			return transcript(t, open(t, file, d.Input+"\n"), opt)
		})
	})
}

// TestBeginnings reads archives behind blank lines and a byte-order mark, an ARC file with a blank in a type, and a sitemap in a code page.
func TestBeginnings(t *testing.T) {
	record := func(n int) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.example/%d\r\nContent-Length: 0\r\n\r\n\r\n\r\n", n)
	}
	warc := record(1) + record(2)
	for _, text := range []string{
		warc, "\r\n\r\n" + warc, "\ufeff" + warc, "\ufeff\n" + warc, "\r\n\ufeff" + warc, "http://a.example/1\r\n\ufeff\r\nhttp://a.example/2\r\n",
		"filedesc://x.arc 0.0.0.0 20200101000000 text/plain 9\n1 0 test\n\n\nhttp://a.example/1 1.2.3.4 20200101000000 text/html; charset=utf-8 2\nx\n\nhttp://a.example/2 1.2.3.4 20200101000000 text/html 2\nx\n",
		"<?xml version='1.0' encoding='windows-1251'?><urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2</loc></url></urlset>",
	} {
		var got []string
		for r, err := range records(open(t, "", text), Options{}, &Counts{}) {
			if err != nil {
				t.Errorf("%.30q: %v", text, err)
			} else if r.Kind != Other {
				got = append(got, r.URL)
			}
		}
		if strings.Join(got, " ") != "http://a.example/1 http://a.example/2" {
			t.Errorf("%.30q: got %q; want both URLs", text, got)
		}
	}
	for name, want := range map[string]string{"cp1251": "п", "cp850": "´", "latin2": "ď", "l1": "ï", "Latin-1": "ï", "windows_1251": "п"} {
		for r, err := range records(open(t, "", "<?xml version='1.0' encoding='"+name+"'?><urlset><url><loc>http://a.example/\xef</loc></url></urlset>"), Options{}, &Counts{}) {
			if err != nil || r.URL != "http://a.example/"+want {
				t.Errorf("%s: got %q, %v; want the letter %s", name, r.URL, err, want)
			}
		}
	}
}

// TestCellsOfLines reads cells with line breaks whose lines look like rows, and quotes that stand for themselves, which end at such a line.
func TestCellsOfLines(t *testing.T) {
	const w, header = "http://wrong.example/1", "url,title\n"
	read := func(text string) (got string, counts Counts) {
		for r, err := range records(open(t, "", text), Options{}, &counts) {
			if err == nil {
				got += fmt.Sprintf("%s@%d ", strings.TrimPrefix(r.URL, "http://a.example/"), r.Line)
			}
		}
		if counts.Units != counts.sum() {
			t.Errorf("%q: got %+v; want every line counted once", text, counts)
		}
		return strings.TrimSpace(got), counts
	}
	for _, c := range []struct {
		text, want string
		refused    int64
	}{
		{header + "http://a.example/1,\"A\n" + w + ",c\"\n", "1@2", 0},
		{header + "http://a.example/1,\"A\n" + w + ",c\nB\"\nhttp://a.example/2,x\n", "1@2 2@5", 0},
		{header + "http://a.example/1,\"A \"\"\n\n" + w + ",\"\"c\"\"\n\"\nhttp://a.example/2,\"x\"\n", "1@2 2@6", 0},
		{header + "http://a.example/1,x\nhttp://a.example/2,\"5 inch\nhttp://a.example/3,c\nhttp://a.example/4,\"d\"\nhttp://a.example/5,e\n", "1@2 3@4 4@5 5@6", 1},
		{header + "http://a.example/1,\"" + strings.Repeat("<p class=\"\"a\"\">x, y</p>\n", 4000) + "\"\nhttp://a.example/2,x\n", "1@2 2@4003", 0},
		{header + "http://a.example/1,x\nhttp://a.example/2,\"5 inch\n\nhttp://a.example/3,c\nno row\nhttp://a.example/4,d\n", "1@2 3@5 4@7", 3},
		{header + "http://a.example/1,x\nhttp://a.example/2,\"5 inch\n" + strings.Repeat("http://a.example/3,c\n", 60), "1@2" + func() (s string) {
			for i := range 60 {
				s += fmt.Sprintf(" 3@%d", i+4)
			}
			return s
		}(), 1},
		{header + "http://a.example/1,x\nhttp://a.example/2,\"5 inch\nhttp://a.example/3,\"4 inch\nhttp://a.example/4,\"3\"\nhttp://a.example/5,\"open\nx\n", "1@2 4@5", 4},
	} {
		if got, counts := read(c.text); got != c.want || counts.Refused != c.refused {
			t.Errorf("%.200q: got %s, %+v; want %s, %d refused", c.text, got, counts, c.want, c.refused)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"\n", "\n" + w + ",c,d\n", w + ",c", "\"", ",", "text ", "\n" + w + ",\"c\",\n", "\n#x\n", "url,title,more"}
	for range 200 {
		var table bytes.Buffer
		out := csv.NewWriter(&table)
		_ = out.Write([]string{"url", "title", "more"}) // to memory
		_ = out.Write([]string{"http://a.example/0", "x", "y"})
		want := "0@2"
		for i := range 1 + random.IntN(5) {
			var cells [2]string
			for c := range cells {
				for range random.IntN(6) {
					cells[c] += pieces[random.IntN(len(pieces))]
				}
			}
			out.Flush()
			want += fmt.Sprintf(" %d@%d", i+1, 1+bytes.Count(table.Bytes(), []byte("\n")))
			_ = out.Write([]string{fmt.Sprintf("http://a.example/%d", i+1), cells[0], cells[1]})
		}
		out.Flush()
		if got, counts := read(table.String()); got != want || counts.Refused > 0 {
			t.Fatalf("%s: got %s, %+v; want %s", table.String(), got, counts, want)
		}
	}
}

func open(t *testing.T, file, text string) *File {
	t.Helper()
	name := "-"
	if file != "" {
		name = filepath.Join("testdata", "logs", file)
	}
	f, err := Open(t.Context(), name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func transcript(t *testing.T, f *File, opt Options) string {
	t.Helper()
	var out strings.Builder
	var counts Counts
	format, err := Detect(f, opt)
	fmt.Fprintf(&out, "%s\n", cmp.Or(string(format), "unknown"))
	for r, err := range records(f, opt, &counts) {
		if err != nil {
			fmt.Fprintf(&out, "! %v\n", err)
			continue
		}
		out.WriteString(describe(r))
	}
	if n := counts.Skipped(); n > 0 {
		fmt.Fprintf(&out, "(%d without a record)\n", n)
	}
	if counts.Units != counts.sum() {
		t.Errorf("got %+v; want a sum of %d", counts, counts.sum())
	}
	_ = err // Read returns it, too
	return out.String()
}

// describe writes a record on one line, fields without a value left out.
func describe(r Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %q", r.Line, r.Kind, r.URL)
	field := func(name string, v any, zero bool) {
		if !zero {
			fmt.Fprintf(&b, " %s=%v", name, v)
		}
	}
	field("at", r.Time.Format(time.RFC3339), r.Time.IsZero())
	field("status", r.Status, r.Status == 0)
	field("mime", r.MIME, r.MIME == "")
	field("digest", r.Digest, r.Digest == "")
	field("to", r.Redirect, r.Redirect == "")
	field("via", r.Via, r.Via == "")
	field("redirected", "yes", !r.RedirectedFrom)
	field("length", r.Length, r.Length == 0)
	return b.String() + "\n"
}

func TestReadEndsWhenTheCallerDoes(t *testing.T) {
	for _, file := range []string{"heritrix3.log", "wget-verbose.log", "wholefile.warc.gz", "nutch.txt", "urlfrontier-dump.jsonl"} {
		n := 0
		for range records(open(t, file, ""), Options{}, nil) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: got %d steps; want 1", file, n)
		}
	}
}

func TestReadRefusesAnUnknownFormat(t *testing.T) {
	for format, want := range map[Format]error{"nonsense": ErrFormat, Parquet: nil, WACZ: nil} {
		records := records(open(t, "", "http://a/"), Options{Format: format}, nil)
		for _, err := range records {
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: got %v; want an error (%v)", format, err, want)
			}
		}
	}
}

// fuzzSeeds are what the fuzzer begins with, beside the beginnings of the logs in testdata.
var fuzzSeeds = map[Format]string{
	List:      "http://a/\r\n\n",
	Table:     "n\turl\n1\t\"http://a/\n\"\n",
	CDX:       " CDX N b a m s k r M S V g\nk 2020 http://a/ t/p 200 D - - 1 2 f\n" + timelessCDX,
	CDXJ:      "!meta {}\ncom,a)/ 2020 {\"url\":\"http://a/\",\"status\":200}\n",
	WARC:      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a/>\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n" + watSeed,
	ARC:       "filedesc://x 1 20140301000000 t/p -1\n1\n2\nhttp://a/ 1 2014 t/p 3\nabc\n",
	Heritrix:  "2006-08-15T09:53:58.470Z 1 53 dns:a - - text/dns #1 2+3 - -\n",
	Access:    "h.example 1.1.1.1 - - [21/Nov/2026:08:55:44 +0000] \"GET /\\x22 HTTP/1.1\" 200 5\n",
	JSON:      "[[\"original\",\"timestamp\"],\n[\"http://a/\",\"2020\"]]\n{\"url\":\"b\"}\n",
	NutchCSV:  nutchHeader + "\n\"http://a/\",2,\"db_fetched\",x,y,0,1,1,1,\"00\",\"\"\n",
	NutchText: "http://a/\tVersion: 7\nStatus: 2 (db_fetched)\n\n",
	Scrapy:    "2026-11-21 09:09:33 [x] DEBUG: Redirecting (301) to <GET b> from <GET a>\n",
	Wget:      "--2026-11-21 09:09:31--  http://a/\nLocation: /b [following]\n",
	W3C:       "#Fields: date time cs-uri-stem cs-host x-edge-location\n2026-11-20 08:12:01 /a%25 h X\n",
	S3:        `o b [06/Feb/2026:00:00:38 +0000] 1.1.1.1 - R REST.GET.OBJECT k "GET /k HTTP/1.1" 200 - 1 1 7 5 "-" "c" - h S c A h.example T` + "\n",
	ELB:       `http 2026-07-02T22:23:00.1Z a 1.1.1.1:1 2.2.2.2:2 0.1 0.1 0.1 200 200 0 1 "GET http://h:80/ HTTP/1.1" "c" - -` + "\n",
	Sitemap:   "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://a/\xe9&amp;</loc></url></urlset>",
}

const watSeed = "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Type: application/json\r\nContent-Length: 88\r\n\r\n" +
	`{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"http://a/"}}}`

// FuzzRead reads bytes as what they look like, and as every format, with the options that change most: readers must end, must
// not fail on text but for its end, and must account for each unit.
func FuzzRead(f *testing.F) {
	formats := append([]Format{""}, Formats()...)
	f.Add([]byte("http://a/1\r\n\ufeff\r\n\x1b[0m\n\ufeff#\nhttp://b/1\n"), uint8(0))
	for i, format := range formats {
		f.Add([]byte(fuzzSeeds[format]), uint8(i))
		f.Add([]byte(fuzzSeeds[format]), uint8(0))
	}
	files, err := filepath.Glob("testdata/logs/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("got %v, %v; want logs to begin with", files, err)
	}
	for _, name := range files {
		in, err := Open(f.Context(), name, nil)
		if err != nil {
			f.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(in, 4000))
		if err := errors.Join(err, in.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(0))
	}
	options := []Options{{}, {Scheme: "https", Base: "http://b.example", Fields: []string{"status", "2"}}, {NeedHost: true, Events: Fetches}, {URLField: "2", Events: Links}}
	f.Fuzz(func(t *testing.T, text []byte, how uint8) {
		opt := options[int(how)/len(formats)%len(options)]
		opt.Format = formats[int(how)%len(formats)]
		readAs(t, text, opt)
	})
}

func readAs(t *testing.T, text []byte, opt Options) {
	in, err := Open(t.Context(), "-", strings.NewReader(string(text)))
	if err != nil {
		return // what looks compressed and isn't
	}
	defer in.Close()
	var counts Counts
	format, records := opt.Format, records(in, opt, &counts)
	n, last := int64(0), int64(0)
	for r, err := range records {
		n++
		if err == nil && r.Line < last && r.Line != 0 && format != NutchText && format != Wget && format != "" {
			t.Errorf("got line %d after line %d", r.Line, last)
		}
		last = r.Line
	}
	if size := sizeOf(t, text); n+counts.Skipped() > 2*size+1 {
		t.Errorf("got %d records and %d lines without one of %d bytes", n, counts.Skipped(), size)
	}
	if counts.Units != counts.sum() {
		t.Errorf("got %+v; want a sum of %d", counts, counts.sum())
	}
}

// sizeOf is the size of a text, once unpacked.
func sizeOf(t *testing.T, text []byte) int64 {
	in, err := Open(t.Context(), "-", strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n, _ := io.Copy(io.Discard, in) // a damaged input ends early, also for the reader
	return n
}

// timelessCDX has a header without a time, and as many columns as two joined lines.
const timelessCDX = " CDX N a m s k r M S V g c\nk http://a.example/ t/p 200 D - - 1 2 f c http://b.example/ t/p 200 D - - 1 2 f c\n"

// TestCDXWithoutTime: a line without a time is refused, however many columns it has.
func TestCDXWithoutTime(t *testing.T) {
	want := "cdx\n! line 2: got no time; want a column b in the header\n"
	if got := transcript(t, open(t, "", timelessCDX), Options{}); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestWARCWithTwoURIs: a field that is there twice is no longer URL.
func TestWARCWithTwoURIs(t *testing.T) {
	record := "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.example/\r\nWARC-Target-URI: %s\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	got := transcript(t, open(t, "", fmt.Sprintf(record, "<http://a.example/>")+fmt.Sprintf(record, "http://b.example/")), Options{})
	want := "warc\n1 fetch \"http://a.example/\"\n! record 2, at byte 130: got a resource record with two URIs\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestWARCTraps has folded headers, a record without URI, one cut short.
func TestWARCTraps(t *testing.T) {
	warc := strings.Join([]string{
		"WARC/1.0", "WARC-Type: resource", "WARC-Target-URI: http://a.example/", " folded", "Content-Type: text/plain", "Content-Length: 2", "", "ab", "",
		"WARC/1.1", "WARC-Type: response", "Content-Length: 0", "", "", "",
		"WARC/1.0", "WARC-Type: metadata", "WARC-Target-URI: http://a.example/", "Content-Length: 49", "",
		"outlink: http://b.example/ L a/@href", "via: none", "",
		"WARC/1.0", "WARC-Type: resource", "WARC-Target-URI: <http://c.example/>", "Content-Length: 500", "", "abc",
	}, "\r\n")
	fetches := `warc
1 fetch "http://a.example/folded" mime=text/plain length=2
! record 2, at byte 129: got a response record without a URI
4 fetch "http://c.example/" length=500
! cannot read - beyond record 4: unexpected EOF
(1 without a record)
`
	links := `warc
3 link "http://b.example/" via=http://a.example/
! record 4, at byte 325: unexpected EOF
! cannot read - beyond record 4: unexpected EOF
(2 without a record)
`
	for want, opt := range map[string]Options{fetches: {}, links: {Events: Links}} {
		if got := transcript(t, open(t, "", warc), opt); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// TestJSONThatIsNotUTF8: URLs that differ in a byte which JSON can't carry stay different.
func TestJSONThatIsNotUTF8(t *testing.T) {
	text := "{\"url\":\"http://a.example/caf\xe9\"}\n{\"url\":\"http://a.example/caf\xe8\"}\n" + `{"url":"http://a.example/caf\udce9"}` + "\n"
	want := `json
1 fetch "http://a.example/caf%E9"
2 fetch "http://a.example/caf%E8"
! line 3: cannot read JSON: got text that is not UTF-8, or half of a surrogate pair (\ud800 to \udfff)
`
	if got := transcript(t, open(t, "", text), Options{Format: JSON}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	cdxj := "example,a)/caf 20260101000000 {\"url\": \"http://a.example/caf\xe9\"}\n"
	want = "cdxj\n1 fetch \"http://a.example/caf%E9\" at=2026-01-01T00:00:00Z\n"
	if got := transcript(t, open(t, "", cdxj), Options{Format: CDXJ}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestLongOutlink: a line that is too long hides no others, and is reported.
func TestLongOutlink(t *testing.T) {
	block := "outlink: http://b.example/1 L\r\noutlink: http://b.example/" + strings.Repeat("x", 2<<20) + " L\r\noutlink: http://b.example/2 L\r\n"
	warc := fmt.Sprintf("WARC/1.0\r\nWARC-Type: metadata\r\nWARC-Target-URI: http://a.example/\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	want := `warc
1 link "http://b.example/1" via=http://a.example/
1 link "http://b.example/2" via=http://a.example/
! record 1, at byte 0: got an outlink of 2097182 bytes; want at most 1048576
`
	if got := transcript(t, open(t, "", warc), Options{Events: Links}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
