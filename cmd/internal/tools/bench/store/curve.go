package main

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// curve grows one store to each of the sizes, measures the loads there, and
// prints a Markdown table with a line for each size. It takes some ten minutes
// to 100 million keys.
func (b *bench) curve() error {
	s, err := pebblestore.Open(b.dir, b.opt)
	if err != nil {
		return err
	}
	b.stream = storebench.NewStream(int(b.sizes[len(b.sizes)-1]) + len(b.sizes)*b.room())
	b.head()
	for i, size := range b.sizes {
		room := 0.0
		if i+1 < len(b.sizes) {
			room = b.sizes[i+1] - size
		}
		if err := b.line(s, int(size), room); err != nil {
			return err
		}
	}
	return s.Close()
}

func (b *bench) head() {
	fmt.Print("| keys | all new: keys/s | CPU µs | index B/key | worst on the way | write amp. |")
	rule := "\n|---|---|---|---|---|---|"
	for _, dup := range b.dups {
		fmt.Printf(" %g %%: keys/s | CPU µs |", dup*100)
		rule += "---|---|"
	}
	fmt.Println(rule)
}

// sampleKeys is how many keys come between two looks at the index's memory.
const sampleKeys = 100_000

// line grows the store to n keys, and prints what that and the loads cost, which
// end earlier than asked for where they would take half the room to the next size.
func (b *bench) line(s *pebblestore.Store, n int, room float64) error {
	grown, w, worst := n-b.stream.Known, startWatch(), 0.0
	for b.stream.Known < n {
		if err := b.stream.Preload(storebench.Pebble{Store: s}, min(sampleKeys, n-b.stream.Known)); err != nil {
			return err
		}
		if i := s.Index(); i.Keys >= 1e6 {
			worst = max(worst, float64(i.Bytes)/float64(i.Keys))
		}
	}
	wall, cpu := time.Since(w.start), storebench.ProcessCPU()-w.cpu
	i := s.Index()
	m, err := s.Metrics(context.Background())
	if err != nil {
		return err
	}
	fmt.Printf("| %g M | %.0f | %.2f | %.2f | %.2f | %.1f |", float64(n)/1e6, float64(grown)/wall.Seconds(),
		cpu.Seconds()*1e6/float64(grown), float64(i.Bytes)/float64(i.Keys), worst, m.WriteAmp())
	for _, b.load.Dup = range b.dups {
		b.load.MaxKeys = int64(room / 2 / float64(len(b.dups)) / max(1-b.load.Dup, 0.01))
		r, err := b.one(s)
		if err != nil {
			return err
		}
		if r.WrongNew+r.WrongKnown > 0 {
			return fmt.Errorf("%d keys were called new and %d known, wrongly", r.WrongNew, r.WrongKnown)
		}
		fmt.Printf(" %.0f | %.2f |", r.PerSecond(), r.CPUPerKey())
	}
	fmt.Println()
	return nil
}
