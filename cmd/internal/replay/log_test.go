package replay

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

// logInput reads one of the small logs that package logs is tested with.
func logInput(t *testing.T, name string, opt logs.Options) logs.Input {
	t.Helper()
	f, err := logs.Open(t.Context(), filepath.Join("..", "logs", "testdata", "logs", name), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return logs.Input{Name: name, Open: func() iter.Seq2[*logs.Batch, error] { return logs.Read(f, opt) }}
}

func TestLogTellsFetchesFromLinks(t *testing.T) {
	for _, c := range []struct {
		file   string
		events logs.Choice
		want   string
	}{
		{"heritrix3.log", logs.Auto, "lines 8 skipped 6 {2 0 0}"},
		{"heritrix3.log", logs.Links, "lines 8 skipped 8 {0 0 0}"},
		{"nutch.csv", logs.Auto, "lines 6 skipped 1 {4 0 1}"},
		{"nutch.csv", logs.Fetches, "lines 6 skipped 2 {4 0 0}"},
		{"scrapy.log", logs.Auto, "lines 11 skipped 3 {6 0 2}"},
		{"scrapy.log", logs.Links, "lines 11 skipped 9 {0 0 2}"},
		{"cdx11.cdx", logs.Auto, "lines 5 skipped 3 {2 0 0}"},
		{"apache-weird.log", logs.All, "lines 24 skipped 4 {20 0 0}"},
		{"urlfrontier-dump.jsonl", logs.Auto, "lines 4 skipped 0 {2 0 2}"},
	} {
		r := mustRun(t, newSeenSet(), Options{}, logInput(t, c.file, logs.Options{Events: c.events}))
		if got := fmt.Sprintf("lines %d skipped %d %v", r.Lines, r.Skipped, r.Kinds); got != c.want {
			t.Errorf("%s, events %s: got %s; want %s", c.file, c.events, got, c.want)
		}
	}
}

func TestRunTellsOfEachInput(t *testing.T) {
	r := mustRun(t, newSeenSet(), Options{},
		listInput(t, "list", "http://docs.lab.test/z\nnot\nnot\nhttp://docs.lab.test/z\n"), logInput(t, "nutch.txt", logs.Options{}),
		logInput(t, "wget.cdx", logs.Options{Format: logs.CDX}))
	want := "list list 4 2 2 1, nutch.txt nutch-text 56 5 0 4, wget.cdx cdx 6 5 0 5, "
	got := ""
	for _, i := range r.Inputs {
		got += fmt.Sprint(i.Input, " ", i.Format, " ", i.Lines, i.URLs, i.Refused, i.Unique, ", ")
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTraps(t *testing.T) {
	for form, want := range map[string]frontier.Reason{
		"http://a.example/":                                  "",
		"http://a.example/" + strings.Repeat("x", 2048):      frontier.ReasonTooLong,
		"http://a.example/1" + strings.Repeat("/2/3/4/5", 6): frontier.ReasonPathDepth,
		"http://a.example/1/2/3/4/5/6/7/8/9/10/11/12/13":     "",
		"http://a.example/ab/ab/x/ab/ab/ab":                  frontier.ReasonRepeats,
		"http://a.example/ab/ab/x/ab/ab":                     "",
		"http://a.example/events?month=2":                    "",
	} {
		if got := trapReasons[trapOf([]byte(form))]; got != want {
			t.Errorf("%.80s: got %q; want %q", form, got, want)
		}
	}
}

// TestTrapsAreThoseOfAFrontier holds replay to what a frontier does with the same URLs.
func TestTrapsAreThoseOfAFrontier(t *testing.T) {
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, url := range []string{
		"http://a.example/ab/ab/x/ab/ab/ab", "http://a.example/" + strings.Repeat("x", 4000), "http://a.example/calendar/",
		"http://a.example" + strings.Repeat("/ab", 25), "http://a.example/1" + strings.Repeat("/2/3/4/5", 6), "http://a.example/1/2/3/4/5/6/7/8/9/10/11/12/13",
	} {
		answer, err := f.AddBatch(t.Context(), []frontier.Link{{URL: url}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := trapReasons[trapOf([]byte(url))], answer[0].Reason; got != want {
			t.Errorf("%.80s: got trap %q; want %q", url, got, want)
		}
	}
}

func TestByRule(t *testing.T) {
	text := "http://a.example/#1\nhttp://a.example/#2\nhttp://a.example/\nhttp://a.example\n" +
		"http://www.a.example/\nhttps://a.example/x?b=1&a=2\nhttps://a.example/x?a=2&b=1\nhttp://b.example/\n"
	r := mustRun(t, newSeenSet(), Options{ByRule: true, Workers: 2}, listInput(t, "list", text)).Rules
	// The standards join http://a.example with its slash; the profile joins fragments
	// and orders; www. would join one more.
	if got, want := fmt.Sprintf("%d %d %d %d", r.Spellings, r.Fixed, r.Profile, r.All), "8 7 4 3"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	effects := map[string]RuleEffect{}
	for _, e := range r.Rules {
		effects[e.Rule] = e
	}
	for rule, want := range map[string]RuleEffect{
		"drop-fragment": {Active: true, Alone: 2, Marginal: 2}, "sort-query": {Active: true, Alone: 1, Marginal: 1},
		"strip-www": {Alone: 1, Marginal: 1}, "fold-https": {},
	} {
		e := effects[rule]
		if e.Active != want.Active || e.Alone != want.Alone || e.Marginal != want.Marginal || (e.One != "") != (want.Marginal > 0) {
			t.Errorf("%s: got %+v; want %+v", rule, e, want)
		}
	}
}

// TestSampleKeepsWholeGroups scales what a halved sample shows to the whole.
func TestSampleKeepsWholeGroups(t *testing.T) {
	v, err := newVariants(Options{}.profile())
	if err != nil {
		t.Fatal(err)
	}
	s := newSample()
	s.most = 64 << 10
	const pages = 20_000
	for i := range uint64(pages) {
		for _, fragment := range []string{"", "#a", "#b"} {
			s.add(i*0x9e3779b97f4a7c15>>7, fmt.Appendf(nil, "http://a.example/%d%s", i, fragment))
		}
	}
	r := s.measure(v, 2, 3*pages, pages)
	if s.halved == 0 || s.bytes > s.most || r.Share != 1/float64(int(1)<<s.halved) {
		t.Errorf("got %d bytes, halved %d times, share %v", s.bytes, s.halved, r.Share)
	}
	if got := r.Rules[0].Alone; got < 2*pages*9/10 || got > 2*pages*11/10 {
		t.Errorf("got %d merged by %s; want about %d", got, r.Rules[0].Rule, 2*pages)
	}
}
