package logs

import (
	"iter"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// records returns the records and refusals of a file one by one, and keeps the counts up to date. It checks that
// every unit is accounted for.
func records(f *File, opt Options, counts *Counts) iter.Seq2[Record, error] {
	if counts == nil {
		counts = new(Counts)
	}
	return func(yield func(Record, error) bool) {
		for b, err := range Read(f, opt) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			all := b.All()
			at := 0
			for r := range all {
				for ; at < len(b.Refusals) && b.Refusals[at].Line < r.Line; at++ {
					if !yield(Record{}, b.Refusals[at]) {
						return
					}
				}
				if !yield(r, nil) {
					return
				}
			}
			for _, refusal := range b.Refusals[at:] {
				if !yield(Record{}, refusal) {
					return
				}
			}
			counts.Add(&b.Counts)
			b.Release()
		}
	}
}

// sum is what must be the number of units.
func (c *Counts) sum() int64 { return c.Read + c.Blank + c.Headers + c.Comments + c.Refused + c.Other }

// TestEndOfTableAfterABatch: what the end of a file makes of lines whose quote was not closed is not lost where the batch of these lines
// was full, or handed on while the writer paused.
func TestEndOfTableAfterABatch(t *testing.T) {
	for _, lines := range []int{batchUnits - 1, batchUnits, batchUnits + 1, 10} {
		var text strings.Builder
		text.WriteString("url,title\n")
		text.WriteString("http://a.example/1,x\nhttp://a.example/2,x\n")
		text.WriteString(strings.Repeat("\n", lines-6))
		text.WriteString("http://b.example/1,\"open\nhttp://b.example/2,x\nhttp://b.example/3,y\n")
		f, err := Open(t.Context(), "-", strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		var counts Counts
		n, last := 0, ""
		for r, err := range records(f, Options{}, &counts) {
			if _, refused := err.(Refusal); refused {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			n, last = n+1, r.URL
		}
		if n != 4 || last != "http://b.example/3" || counts.Refused != 1 || counts.Units != int64(lines) {
			t.Errorf("%d lines: got %d records, the last of %s, %d refused of %d; want four and one", lines, n, last, counts.Refused, counts.Units)
		}
	}
}

// TestOpenBrackets: a line of brackets that are not closed is refused in time that grows with its length.
func TestOpenBrackets(t *testing.T) {
	for _, bracket := range []string{"( ", "[ ", "a[ ", "[ [ "} {
		text := "http://a.example/ " + strings.Repeat(bracket, 1<<18) + "\n"
		hang.Within(t, bracket, func() {
			if found, ok := tokens(text); ok || len(found) > 2 {
				t.Errorf("%q: got %d tokens, %t", bracket, len(found), ok)
			}
			if isTacked(text) || cutLine(text, "", place{}).url != "" {
				t.Errorf("%q: got a URL with tags", bracket)
			}
		})
	}
}
