package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
)

// seenSet is the part of a store that a replay uses. It fails after a number of
// calls, if asked.
type seenSet struct {
	store.Store
	keys      map[store.Key]bool
	failAfter int
	unicode   bool // keys were recorded that depend on the Unicode version
}

var errDisk = errors.New("no space left on device")

func newSeenSet() *seenSet { return &seenSet{keys: map[store.Key]bool{}, failAfter: -1} }

func (s *seenSet) Stats(context.Context, string) (store.Stats, error) {
	return store.Stats{Seen: int64(len(s.keys))}, nil
}

func (s *seenSet) Keys(context.Context, string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for k := range s.keys {
			if !yield(k, nil) {
				return
			}
		}
	}
}

func (s *seenSet) See(_ context.Context, _ string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	s.unicode = s.unicode || opt.UnicodeHosts
	if s.failAfter == 0 {
		return errDisk
	}
	s.failAfter--
	for i, k := range keys {
		fresh[i] = !s.keys[k]
		s.keys[k] = true
	}
	return nil
}

func listInput(t *testing.T, name, text string) logs.Input {
	t.Helper()
	f, err := logs.Open(t.Context(), "-", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	f.Name = name
	return logs.Input{Name: name, Open: func() iter.Seq2[*logs.Batch, error] { return logs.Read(f, logs.Options{Format: logs.List}) }}
}

func mustRun(t *testing.T, s store.Store, opt Options, inputs ...logs.Input) *Result {
	t.Helper()
	opt.Store = s
	opt.TempDir = t.TempDir()
	r, err := Run(t.Context(), inputs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counts are the figures that must not depend on how the input is cut up.
func counts(r *Result) string {
	return fmt.Sprintf("lines %d blank %d refused %d urls %d exact %d/%d unique %d canonical %d duplicates %d new %d",
		r.Lines, r.Blank, r.Refused, r.URLs, r.ExactUnique, r.ExactDuplicates, r.Unique, r.CanonicalDuplicates, r.Duplicates, r.New)
}

const small = "http://a.example/\r\nhttp://A.example\n\nhttp://a.example/#x\nhttp://a.example/\nnot a URL\nnot a URL\nmailto:x@y\nhttp://b.example/?b=1&a=2\nhttp://b.example/?a=2&b=1"

const smallCounts = "lines 10 blank 1 refused 3 urls 6 exact 5/1 unique 2 canonical 3 duplicates 4 new 2"

func TestRunCounts(t *testing.T) {
	r := mustRun(t, newSeenSet(), Options{}, listInput(t, "small", small))
	if got := counts(r); got != smallCounts {
		t.Errorf("got  %s\nwant %s", got, smallCounts)
	}
	if got, want := fmt.Sprint(r.RefusedBy), "map[scheme:1 url:2]"; got != want {
		t.Errorf("got refusals %s; want %s", got, want)
	}
	if len(r.FirstRefusals) != 2 || r.FirstRefusals[0].Line != 6 || r.FirstRefusals[1].Line != 8 || r.FirstRefusals[0].Input != "small" {
		t.Errorf("got first refusals %+v; want lines 6 and 8 of small", r.FirstRefusals)
	}
	if got, want := fmt.Sprint(r.Hosts), "[{a.example 4 1 1 0 0} {b.example 2 0 1 0 0}]"; got != want {
		t.Errorf("got hosts %s; want %s", got, want)
	}
}

// TestRunTellsOfUnicodeHosts, also of those that the profile leaves Unicode.
func TestRunTellsOfUnicodeHosts(t *testing.T) {
	for profile, want := range map[string]bool{"qiita": true, "c14n": true, "whatwg": true, "none": false} {
		for raw, want := range map[string]bool{"http://bücher.de/": want, "http://a.de/ü": false} {
			p, err := canon.ParseProfile(profile)
			if err != nil {
				t.Fatal(err)
			}
			s := newSeenSet()
			mustRun(t, s, Options{Profile: p}, listInput(t, "list", raw+"\n"))
			if s.unicode != want {
				t.Errorf("%s of %s: got a Unicode host %t; want %t", profile, raw, s.unicode, want)
			}
		}
	}
}

func TestRunCountsTheSameWhateverTheCut(t *testing.T) {
	lines := strings.SplitAfter(small, "\n")
	for cut := range lines {
		first, second := strings.Join(lines[:cut], ""), strings.Join(lines[cut:], "")
		r := mustRun(t, newSeenSet(), Options{Workers: 1 + cut%3}, listInput(t, "1", first), listInput(t, "2", second))
		if got := counts(r); got != smallCounts {
			t.Errorf("cut before line %d: got %s\nwant %s", cut+1, got, smallCounts)
		}
	}
}

// TestRunCountsExactlyBeyondTheBudget holds the counts when the exact table knows
// only a handful of spellings.
func TestRunCountsExactlyBeyondTheBudget(t *testing.T) {
	var text bytes.Buffer
	for i := range 60_000 {
		fmt.Fprintf(&text, "http://h%d.example/p?n=%d#%d\n", i%17, i%4000, i%9000)
	}
	text.WriteString("no\nno\n")
	want := counts(mustRun(t, newSeenSet(), Options{}, listInput(t, "list", text.String())))
	r := mustRun(t, newSeenSet(), Options{ExactBudget: 100 * tableEntry}, listInput(t, "list", text.String()))
	if got := counts(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Spilled == 0 {
		t.Error("got no spilled hashes; want the budget to be exceeded")
	}
}

func TestRunTellsWhatTheStoreKnewBefore(t *testing.T) {
	s := newSeenSet()
	mustRun(t, s, Options{}, listInput(t, "first", "http://a/\nhttp://b/\n"))
	for _, budget := range []int64{0, tableEntry} {
		r := mustRun(t, s, Options{ExactBudget: budget}, listInput(t, "second", "http://b/\nhttp://a/#\nhttp://a/\nhttp://a/\n"))
		if r.Unique != 2 || r.New != 0 || r.Duplicates != 2 {
			t.Errorf("got unique %d, new %d, duplicates %d; want 2, 0, 2", r.Unique, r.New, r.Duplicates)
		}
	}
}

func TestRunKeepsWhatTheStoreAcknowledged(t *testing.T) {
	var text strings.Builder
	for i := range 6 * seeBatch {
		fmt.Fprintf(&text, "http://h.example/%060d\n", i)
	}
	s := newSeenSet()
	s.failAfter = 3
	r, err := Run(t.Context(), []logs.Input{listInput(t, "list", text.String())}, Options{Store: s})
	if !errors.Is(err, errDisk) {
		t.Fatalf("got error %v; want %v", err, errDisk)
	}
	if r.Unique != int64(len(s.keys)) || r.URLs != r.Unique || r.Lines != r.Unique || r.Unique == 0 {
		t.Errorf("got %s; want the %d keys the store has", counts(r), len(s.keys))
	}
}

func TestRunStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	endless := logs.Input{Name: "endless", Open: func() iter.Seq2[*logs.Batch, error] {
		return func(yield func(*logs.Batch, error) bool) {
			for n := int64(0); ; n++ {
				if n == 50 {
					cancel()
				}
				r := logs.Record{URL: fmt.Sprintf("http://h.example/%d", n), Line: n + 1}
				if !yield(&logs.Batch{Records: []logs.Record{r}}, nil) {
					return
				}
			}
		}
	}}
	s := newSeenSet()
	r, err := Run(ctx, []logs.Input{endless, listInput(t, "never read", "http://a/\n")}, Options{Store: s})
	if err != nil || !r.Interrupted || r.Unique < 50 || r.Unique != int64(len(s.keys)) {
		t.Errorf("got %s, interrupted %v, %v; want what was read until then", counts(r), r.Interrupted, err)
	}
}

func TestRunGoesOnAfterABadInput(t *testing.T) {
	bad := logs.Input{Name: "bad", Open: func() iter.Seq2[*logs.Batch, error] {
		return func(yield func(*logs.Batch, error) bool) { yield(nil, errDisk) }
	}}
	binary := listInput(t, "binary", "\x00\x01\x02")
	r := mustRun(t, newSeenSet(), Options{}, bad, binary, listInput(t, "good", "http://a/\n"))
	if len(r.Errors) != 2 || !errors.Is(r.Errors[0], errDisk) || !errors.Is(r.Errors[1], logs.ErrFormat) || r.Unique != 1 {
		t.Errorf("got %s, errors %v; want both errors and one URL", counts(r), r.Errors)
	}
}

func TestListCountsALineTooLong(t *testing.T) {
	text := "\xef\xbb\xbfhttp://a/\n" + strings.Repeat("x", 3<<20) + "\nhttp://b/"
	r := mustRun(t, newSeenSet(), Options{}, listInput(t, "list", text))
	if r.Lines != 3 || r.Unique != 2 || r.Refused != 1 || r.FirstRefusals[0].Line != 2 {
		t.Errorf("got %s, %v; want line 2 refused", counts(r), r.FirstRefusals)
	}
}

// TestNextGivesWhatIsThere: a batch that was queued before the replay is to stop is not dropped,
// whatever came first to the one that waits.
func TestNextGivesWhatIsThere(t *testing.T) {
	for range 1000 {
		e := &engine{}
		e.ahead, e.stop = context.WithCancelCause(t.Context())
		queue := make(chan *batch, 1)
		go func() { queue <- &batch{}; e.stop(nil) }()
		if b, ok := e.next(queue); !ok || b == nil {
			t.Fatalf("got %v, %v; want the batch", b, ok)
		}
		if b, ok := e.next(queue); ok {
			t.Fatalf("got %v; want no more", b)
		}
	}
}
