package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// golden is what the reference readers saw in a file.
type golden struct {
	Lines         int64            `json:"lines"`
	Records       *int64           `json:"records"`
	DistinctURLs  int              `json:"distinct_urls"`
	WithDigest    int64            `json:"with_digest"`
	Statuses      map[string]int64 `json:"statuses"`
	First         json.RawMessage  `json:"first"`
	Last          json.RawMessage  `json:"last"`
	Parsed        *int64           `json:"parsed"`
	WithTarget    int64            `json:"with_request_target"`
	Targets       int              `json:"distinct_targets"`
	Captures      *int64           `json:"captures"`
	PayloadDigest int64            `json:"payload_digests"`
	Error         *string          `json:"error"`
}

// exceptions are the files for which the reference isn't right, or says less: which
// of the compared figures differ, and why.
var exceptions = map[string]exception{
	"cdx/netarkivet-fyensdk.cdx":                {"statuses", "the format has none, the reference assumes 200"},
	"cdx/netarkivet-jobs-2-4-70.cdx":            {"statuses", "the format has none, the reference assumes 200"},
	"cdx/openwayback-test-cdx.txt":              {"records digests statuses", "the reference drops 25 captures indexed as application/http;msgtype=response"},
	"cdx/zipnum-sample.cdx.gz":                  {"records urls digests statuses", "37 lines hold two records, joined without a line end; the reference sees the first"},
	"cdx/zipnum-sample.idx":                     {"lines", "it is of no format that is read, so that no line is looked at"},
	"cdxj/ipwb-sample-1.cdxj":                   {"urls", "the index holds none; ours are made from the sort keys"},
	"cdxj/ipwb-sample-old.cdxj":                 {"urls", "the index holds none; ours are made from the sort keys"},
	"lab/apache-vhost_combined.log":             {"distinct", "the reference doesn't look at the virtual host"},
	"warc/slyrz-test.warc.gz":                   {"captures", "the reference refuses whole-file gzip, which is legal"},
	"warc/whirlwind.warc.wat.gz":                {"lines", "the reference counts lines of text; ours are records"},
	"warc/stormcrawler-unparsable-date.warc.gz": {"captures", "the reference refuses whole-file gzip, which is legal"},
}

type exception struct{ figures, reason string }

// cutShort are the files whose reading ends in an error.
var cutShort = map[string]bool{
	"warc/example-space-in-url.arc": true, // 2 bytes less than its last record says
	// Nothing can be read from these, which is an error.
	"warc/slyrz-test.warc.gz":               true, // its records have no URI
	"cdxj/ipwb-5mementos.cdxj":              true, // a TimeMap
	"cdx/zipnum-sample.idx":                 true, // an index of an index
	"access/elastic_nginxplus_json_logs.gz": true, // the state of a server, without a request
}

// seen is what our reader sees of a file.
type seen struct {
	format     Format
	records    []Record
	bad        []Refusal
	counts     Counts
	distinct   map[string]bool
	digests    int64
	statuses   map[string]int64
	withTarget int64
	failure    error
}

func readFile(t *testing.T, path string) *seen {
	t.Helper()
	f, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := &seen{distinct: map[string]bool{}, statuses: map[string]int64{}}
	s.format, _ = Detect(f, Options{})
	for r, err := range records(f, Options{}, &s.counts) {
		var refusal Refusal
		switch {
		case errors.As(err, &refusal):
			s.bad = append(s.bad, refusal)
		case err != nil:
			s.failure = err
		default:
			s.add(r)
		}
	}
	return s
}

func (s *seen) add(r Record) {
	s.records = append(s.records, r)
	s.distinct[r.URL] = true
	if r.Digest != "" {
		s.digests++
	}
	status := "-"
	if r.Status != 0 {
		status = strconv.Itoa(r.Status)
	}
	s.statuses[status]++
	if r.URL != "" {
		s.withTarget++
	}
}

func TestGolden(t *testing.T) {
	dir := sharedLogs(t)
	text, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]golden
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			s := readFile(t, filepath.Join(dir, name))
			t.Logf("%s: %d records, %d bad, %d skipped", s.format, len(s.records), len(s.bad), s.counts.Skipped())
			for _, e := range s.bad[:min(3, len(s.bad))] {
				t.Logf("bad: %v: %.100q", e, e.Text)
			}
			if (s.failure != nil) != cutShort[name] {
				t.Errorf("got failure %v; want one: %v", s.failure, cutShort[name])
			}
			compare(t, exceptions[name], s, want)
		})
	}
}

func compare(t *testing.T, e exception, s *seen, want golden) {
	check := func(figure string, got, want any) {
		t.Helper()
		same := fmt.Sprint(got) == fmt.Sprint(want)
		switch excepted := strings.Contains(e.figures, figure); {
		case excepted && same:
			t.Errorf("%s is as the reference has it; want the exception dropped: %s", figure, e.reason)
		case !excepted && !same:
			t.Errorf("got %s %v; want %v", figure, got, want)
		}
	}
	if want.Lines != 0 && s.counts.Units != want.Lines && !strings.Contains(e.figures, "lines") {
		t.Errorf("got %d lines; want %d", s.counts.Units, want.Lines)
	}
	switch {
	case want.Records != nil:
		check("records", len(s.records), *want.Records)
		check("urls", len(s.distinct), want.DistinctURLs)
		check("digests", s.digests, want.WithDigest)
		check("statuses", s.mostFrequent(want.Statuses), want.Statuses)
		compareEnds(t, e.figures, s.records, want)
	case want.Parsed != nil:
		check("records", len(s.records), *want.Parsed)
		check("targets", s.withTarget, want.WithTarget)
		delete(s.distinct, "")
		check("distinct", len(s.distinct), want.Targets)
		check("statuses", s.mostFrequent(want.Statuses), want.Statuses)
	case want.Captures != nil && want.Error == nil:
		check("captures", len(s.records), *want.Captures)
		check("urls", len(s.distinct), want.DistinctURLs)
		check("digests", s.digests, want.PayloadDigest)
		compareURLs(t, s.records, want)
	case want.Captures != nil:
		check("captures", fmt.Sprint(len(s.records), s.failure), fmt.Sprint(*want.Captures, *want.Error))
	default:
		t.Logf("the reference tells only the number of lines, %d", want.Lines)
	}
}

// mostFrequent leaves out the statuses that the reference does: it lists a few, the
// most frequent.
func (s *seen) mostFrequent(listed map[string]int64) map[string]int64 {
	least := int64(1 << 62)
	for _, n := range listed {
		least = min(least, n)
	}
	kept := map[string]int64{}
	for status, n := range s.statuses {
		if _, ok := listed[status]; ok || n > least {
			kept[status] = n
		}
	}
	return kept
}

// compareEnds compares the first and the last record, column by column.
func compareEnds(t *testing.T, exception string, records []Record, want golden) {
	t.Helper()
	if len(records) == 0 {
		return
	}
	for raw, r := range map[*json.RawMessage]Record{&want.First: records[0], &want.Last: records[len(records)-1]} {
		var columns []*string
		if err := json.Unmarshal(*raw, &columns); err != nil || len(columns) != 6 {
			t.Fatalf("got %s, %v; want six columns", *raw, err)
		}
		for i, got := range ends(r) {
			w := "-"
			if columns[i] != nil {
				w = *columns[i]
			}
			if got != w && (i != 2 || exception != "statuses") && (i != 0 || exception != "urls") && !sameTime(i, r, w) {
				t.Errorf("got column %d %q; want %q", i, got, w)
			}
		}
	}
}

func ends(r Record) [6]string {
	status := strconv.Itoa(r.Status)
	if r.Status == 0 {
		status = ""
	}
	redirect := r.Redirect
	if r.RedirectedFrom {
		redirect = "via:" + r.Via
	}
	columns := [6]string{r.URL, r.Time.Format("20060102150405"), status, r.MIME, r.Digest, redirect}
	for i, c := range columns {
		if c == "" {
			columns[i] = "-"
		}
	}
	return columns
}

// sameTime compares the time column, which the reference leaves in the log's form.
func sameTime(column int, r Record, want string) bool {
	return column == 1 && (r.Time.Format("2006-01-02T15:04:05.000Z") == want || r.Time.Equal(digitTime(want)))
}

// compareURLs compares the first and last URL. The reference escapes blanks and non-ASCII letters;
// ours are as in the file.
func compareURLs(t *testing.T, records []Record, want golden) {
	t.Helper()
	if len(records) == 0 {
		return
	}
	for raw, r := range map[*json.RawMessage]Record{&want.First: records[0], &want.Last: records[len(records)-1]} {
		var w string
		if err := json.Unmarshal(*raw, &w); err != nil {
			t.Fatal(err)
		}
		if got := percented(r.URL); got != w {
			t.Errorf("got %q; want %q", got, w)
		}
	}
}

func percented(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ReplaceAll(url.QueryEscape(string([]byte{c})), "+", "%20"))
		}
	}
	return b.String()
}

// sharedLogs is where the corpus of logs is that isn't in the repository.
func sharedLogs(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FIRSTSEEN_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "logs")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the shared corpora aren't here: %v", err)
	}
	return dir
}
