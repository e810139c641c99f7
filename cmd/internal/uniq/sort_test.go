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
	for _, c := range [][2]string{{"9", "10"}, {"-1", "0.5"}, {"2026-01-31T12:00:00Z", "2026-02-01T00:00:00+02:00"}, {"20260101000000", "20260102000000"}, {"a", "b"}, {"5", "x"}, {"2026-01-01 10:00:00", "2026-01-01 10:00:01"}} {
		if a, b := orderOf([]byte(c[0])), orderOf([]byte(c[1])); !a.less(b) || b.less(a) || a.none {
			t.Errorf("got %+v, %+v; want %s before %s", a, b, c[0], c[1])
		}
	}
	if !orderOf(nil).none {
		t.Error("got an order of nothing")
	}
}
