package storebench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
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
	Batch   int           // keys in a call
	Dup     float64       // share of keys seen before
	Skew    bool          // duplicates are drawn as links are, mostly of a few; otherwise uniformly
	Length  time.Duration // of calls, not counting the making of the stream
	MaxKeys int64         // ends the load earlier; 0: no bound
}

// Result is what a load brought.
type Result struct {
	Keys, New  int64
	Wall       time.Duration // in calls
	CPU        time.Duration // of the process, less the making of the stream
	P50, P99   time.Duration // of a call
	Longest    time.Duration
	WrongNew   int64 // duplicates called new
	WrongKnown int64 // new keys called duplicates
}

// PerSecond is keys a second of wall time.
func (r Result) PerSecond() float64 { return float64(r.Keys) / r.Wall.Seconds() }

// CPUPerKey is processor time for each key, in µs.
func (r Result) CPUPerKey() float64 { return r.CPU.Seconds() * 1e6 / float64(r.Keys) }

// Columns are the names of what Row says, and Rule the line below them, of a Markdown table.
const (
	Columns = " keys/s | CPU µs/key | p50 ms | p99 ms | longest ms | s | new | wrong |"
	Rule    = "--:|--:|--:|--:|--:|--:|--:|--:|"
)

// Row is the end of a row of that table.
func (r Result) Row() string {
	return fmt.Sprintf(" %.0f | %.2f | %.2f | %.2f | %.0f | %.1f | %d | %d |",
		r.PerSecond(), r.CPUPerKey(), ms(r.P50), ms(r.P99), ms(r.Longest), r.Wall.Seconds(), r.New, r.WrongNew+r.WrongKnown)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Stream is the keys of a run: the first Known of All are recorded.
type Stream struct {
	All   []hashkey.UrlShortHash
	Known int
	rng   *rand.Rand
}

// NewStream makes a stream of at most total keys.
func NewStream(total int) *Stream {
	return &Stream{All: Keys(total), rng: rand.New(rand.NewPCG(1, 1))}
}

// fill makes a batch: want[i] says whether keys[i] is new.
func (s *Stream) fill(keys []hashkey.UrlShortHash, want []bool, l Load) {
	known := s.Known
	for i := range keys {
		if want[i] = s.rng.Float64() >= l.Dup && s.Known < len(s.All); want[i] {
			keys[i] = s.All[s.Known]
			s.Known++
			continue
		}
		keys[i] = s.All[s.draw(known, l.Skew)]
	}
}

// draw picks one of n known keys.
func (s *Stream) draw(n int, skew bool) int {
	if !skew {
		return int(s.rng.Uint64N(uint64(n)))
	}
	u := s.rng.Float64()
	return int(math.Pow(float64(n), u)) - 1
}

// Preload records the next n keys in great batches.
func (s *Stream) Preload(e Engine, n int) error {
	return s.record(e, s.next(n))
}

// PreloadSorted is Preload in ascending order of the keys.
func (s *Stream) PreloadSorted(e Engine, n int) error {
	return s.record(e, s.NextSorted(n))
}

// NextSorted returns the next n keys, or what is left of them, in ascending order.
func (s *Stream) NextSorted(n int) []hashkey.UrlShortHash {
	keys := slices.Clone(s.next(n))
	slices.SortFunc(keys, hashkey.UrlShortHash.Compare)
	return keys
}

// next are the next n keys, or what is left of them.
func (s *Stream) next(n int) []hashkey.UrlShortHash {
	return s.All[s.Known:min(s.Known+n, len(s.All))]
}

// record records the next keys, in the order in which they are given.
func (s *Stream) record(e Engine, keys []hashkey.UrlShortHash) error {
	fresh := make([]bool, 50_000)
	for part := range slices.Chunk(keys, len(fresh)) {
		if err := e.See(part, fresh[:len(part)]); err != nil {
			return err
		}
		if slices.Contains(fresh[:len(part)], false) {
			return fmt.Errorf("a new key was called known while loading")
		}
		s.Known += len(part)
	}
	return nil
}

// Run drives e with a load from one caller.
func (s *Stream) Run(e Engine, l Load) (Result, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var r Result
	var calls []time.Duration
	keys, want, fresh := make([]hashkey.UrlShortHash, l.Batch), make([]bool, l.Batch), make([]bool, l.Batch)
	cpu, making := ProcessCPU()+e.CPU(), time.Duration(0)
	for r.Wall < l.Length && (l.MaxKeys == 0 || r.Keys < l.MaxKeys) && s.Known+l.Batch <= len(s.All) {
		t := threadCPU()
		s.fill(keys, want, l)
		making += threadCPU() - t
		start := time.Now()
		if err := e.See(keys, fresh); err != nil {
			return r, err
		}
		d := time.Since(start)
		t = threadCPU()
		r.Wall += d
		calls = append(calls, d)
		r.judge(want, fresh)
		making += threadCPU() - t
	}
	r.CPU = ProcessCPU() + e.CPU() - cpu - making
	r.percentiles(calls)
	return r, nil
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

func (r *Result) percentiles(calls []time.Duration) {
	if len(calls) == 0 {
		return
	}
	slices.Sort(calls)
	r.P50, r.P99, r.Longest = calls[len(calls)/2], calls[len(calls)*99/100], calls[len(calls)-1]
}
