package storebench

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/hashkey"
)

// Engine is a seen-set under test. See sets fresh[i] for the keys that were
// new and has recorded all of them durably when it returns.
type Engine interface {
	See(keys []hashkey.UrlShortHash, fresh []bool) error
	// CPU returns the processor time the engine used so far, when it runs in
	// another process; otherwise zero.
	CPU() time.Duration
}

// Load is one load on an engine.
type Load struct {
	Batch   int     // keys in a call
	Callers int     // at the same time; 0 is 1
	Dup     float64 // share of keys seen before
	Skew    bool    // duplicates are drawn as links are, mostly of a few; otherwise uniformly
	Length  time.Duration
	MaxNew  int       // ends the load earlier; 0: no bound
	Syncs   *LogSyncs // under the engine, to measure calls without their sync; nil: not measured
}

// Result is what a load measured.
type Result struct {
	Keys, New  int64
	Wall       time.Duration // with the making of the stream
	CPU        time.Duration // of the process, less that of drawing and checking as many keys
	P50, P99   time.Duration // of a call
	P99Rest    time.Duration // of a call without the sync that made it durable
	Longest    call
	WrongNew   int64 // duplicates called new
	WrongKnown int64 // new keys called duplicates
}

// PerSecond is keys a second of wall time.
func (r Result) PerSecond() float64 { return float64(r.Keys) / r.Wall.Seconds() }

// Wrong is how many answers were wrong.
func (r Result) Wrong() int64 { return r.WrongNew + r.WrongKnown }

// CPUPerKey is processor time for each key, in µs.
func (r Result) CPUPerKey() float64 { return r.CPU.Seconds() * 1e6 / float64(r.Keys) }

// Columns are the names of what Row says, and Rule the line below them, of a Markdown table.
const (
	Columns = " keys/s | CPU µs/key | p50 ms | p99 ms | p99 without sync | longest ms | its sync | s | new | wrong |"
	Rule    = "--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)

// Row is the end of a row of that table.
func (r Result) Row() string {
	return fmt.Sprintf(" %.0f | %.2f | %.2f | %.2f | %.2f | %.0f | %.0f | %.1f | %d | %d |",
		r.PerSecond(), r.CPUPerKey(), ms(r.P50), ms(r.P99), ms(r.P99Rest), ms(r.Longest.all), ms(r.Longest.sync), r.Wall.Seconds(), r.New, r.Wrong())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// add adds the counts of a caller.
func (r *Result) add(p *Result) {
	r.Keys += p.Keys
	r.New += p.New
	r.WrongNew += p.WrongNew
	r.WrongKnown += p.WrongKnown
}

func (r *Result) judge(want, got []bool) {
	for i, w := range want {
		switch {
		case w == got[i]:
		case w:
			r.WrongKnown++
		default:
			r.WrongNew++
		}
		if w {
			r.New++
		}
	}
	r.Keys += int64(len(want))
}

// call is how long a call took, and the part of it that was its sync.
type call struct{ all, sync time.Duration }

func (r *Result) percentiles(calls []call) {
	if len(calls) == 0 {
		return
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.all-a.sync, b.all-b.sync) })
	r.P99Rest = calls[len(calls)*99/100].all - calls[len(calls)*99/100].sync
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.all, b.all) })
	r.P50, r.P99, r.Longest = calls[len(calls)/2].all, calls[len(calls)*99/100].all, calls[len(calls)-1]
}
