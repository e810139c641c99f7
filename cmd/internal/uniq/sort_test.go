package uniq

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
)

// TestChosenAndSortedAreWhatAMapWouldGive chooses and sorts random rows in little memory, so that files take part, and compares
// the output with that of a map and a sort.
func TestChosenAndSortedAreWhatAMapWouldGive(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	type row struct {
		url, form, host string
		at, number      int
	}
	var rows []row
	table := strings.Builder{}
	table.WriteString("url,at\n")
	for i := range 30_000 {
		r := row{number: i, at: rng.IntN(100) - 1, host: fmt.Sprintf("h%d.example", rng.IntN(50))}
		r.url = fmt.Sprintf("http://%s/%d#%d", r.host, rng.IntN(200), rng.IntN(9))
		r.form, _, _ = strings.Cut(r.url, "#")
		at := fmt.Sprint(r.at)
		if r.at < 0 {
			at = ""
		}
		fmt.Fprintf(&table, "%s,%s\n", r.url, at)
		rows = append(rows, r)
	}
	for _, choice := range []Choice{FirstRead, First, Last} {
		for _, sorted := range []bool{false, true} {
			best := map[string]row{}
			for _, r := range rows {
				b, ok := best[r.form]
				if !ok || choice == First && r.at >= 0 && (b.at < 0 || r.at < b.at) || choice == Last && (r.at >= b.at) {
					best[r.form] = r
				}
			}
			want := []row{}
			for _, r := range best {
				want = append(want, r)
			}
			slices.SortFunc(want, func(a, b row) int {
				if sorted {
					return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.number, b.number))
				}
				return cmp.Compare(a.number, b.number)
			})
			opt := options(2)
			opt.Choose, opt.TempDir, opt.MemoryBytes = choice, t.TempDir(), 4<<20
			if sorted {
				opt.Sort = func(dst, form []byte) []byte { return append(dst, canon.Host(form)...) }
			}
			var got bytes.Buffer
			in := sourceOf(t.Context(), strings.NewReader(table.String()), logs.Options{Fields: []string{"at"}})
			result, err := Run(t.Context(), []logs.Input{in}, &got, opt)
			if err != nil || len(result.Errors) > 0 {
				t.Fatal(err, result.Errors)
			}
			var wanted strings.Builder
			for _, r := range want {
				wanted.WriteString(r.url + "\n")
			}
			if got.String() != wanted.String() || result.Printed+result.Duplicates != result.URLs || !result.Inputs[0].Whole {
				t.Errorf("choice %d, sorted %v: got %d bytes, %+v; want %d", choice, sorted, got.Len(), result, wanted.Len())
			}
		}
	}
}

// TestOrder compares values of a column as what they are.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		texts, lost []string // in their order; those that cannot be compared
		times       bool
	}{
		{texts: []string{"-1", "0.5", "9", "10", "1e3"}, lost: []string{"", "x", "NaN"}},
		{texts: []string{"20260101000000", "20260102000000", "20260201000000"}},
		{texts: []string{"3", "5", "1234", "1767225600"}, lost: []string{"2026-03-01"}},
		{times: true, lost: []string{"", "x", "5", "01/02/2026", "2026-13-01"}, texts: []string{"2025", "20260101000000", "2026-01-31T12:00:00Z", "2026-02-01T00:00:00+02:00", "2026-01-31T22:00:01", "2026-01-31 22:00:02",
			"2026-01-31 22:00:02.5", "2026-01-31 23:00:03+01", "2026-01-31 23:00:04 +01:00", "2026-01-31 22:00:05 +0000 UTC", "2026-01-31 22:00:06 UTC", "2026-01-31T22:01",
			"2026-01-31T22:02:00.000001Z", "2026-03-01", "Sun, 01 Mar 2026 00:00:01 GMT", "1772323202", "1772323203.5", "1772323204000", "2026-09-01T00:00:00Z", "20260902", "9999-12-31"}},
	} {
		var all ordered
		for _, text := range append(c.lost, c.texts...) {
			all.add(text)
		}
		if all.areTimes() != c.times || all.without() != int64(len(c.lost)) {
			t.Errorf("%q: got %+v; want times %v, without %q", c.texts, all, c.times, c.lost)
		}
		for i := range c.texts[1:] {
			if a, b := orderOf(c.texts[i]), orderOf(c.texts[i+1]); !a.less(b, c.times) || b.less(a, c.times) || !a.is(c.times) {
				t.Errorf("got %+v, %+v; want %s before %s", a, b, c.texts[i], c.texts[i+1])
			}
		}
	}
}
