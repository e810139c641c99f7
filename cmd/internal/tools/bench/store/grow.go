package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// growth grows a store to so many keys, and prints a row for each part. Then it closes
// and opens the store, kills a process that has it open, and verifies and exports it.
func (b *bench) growth() error {
	s, err := b.open()
	if err != nil {
		return err
	}
	start, from := time.Now(), b.stream.Known
	fmt.Println("| keys | new keys/s |" + storebench.Columns + " memory MB | index MB | disk B/key | write amp. |\n|--:|--:|" + storebench.Rule + "--:|--:|--:|--:|")
	for b.stream.Known < int(b.keys) && (b.limit == 0 || time.Since(start) < b.limit) {
		if err := b.part(s, start); err != nil {
			return err
		}
	}
	fmt.Printf("\n- %.0f new keys/s on average\n", float64(b.stream.Known-from)/time.Since(start).Seconds())
	if err := b.settle(s); err != nil {
		return err
	}
	w := startWatch()
	if err := s.Close(); err != nil {
		return err
	}
	w.print("close", int64(b.stream.Known))
	if err := b.firstBatch(0); err != nil {
		return err
	}
	if err := b.kill(); err != nil {
		return err
	}
	return b.whole()
}

// part grows the store by one part, and prints its row.
func (b *bench) part(s *pebblestore.Store, start time.Time) error {
	l := b.load
	l.Dup, l.MaxNew, l.Length = b.dups[0], min(int(b.grow), int(b.keys)-b.stream.Known), time.Hour
	if b.limit > 0 {
		l.Length = b.limit - time.Since(start)
	}
	r, err := b.stream.Run(storebench.Pebble{Store: s}, l)
	if err != nil {
		return err
	}
	m, err := s.Metrics(context.Background())
	if err != nil {
		return err
	}
	resident, files := storebench.RSS()
	fmt.Printf("| %.0f M | %.0f |%s %d | %d | %.1f | %.1f |\n", float64(b.stream.Known)/1e6, float64(r.New)/r.Wall.Seconds(),
		r.Row(), (resident-files)>>20, m.Index.Bytes>>20, b.disk(), m.WriteAmp())
	if r.Wrong() > 0 {
		return fmt.Errorf("%d of %d answers were wrong", r.Wrong(), r.Keys)
	}
	return nil
}

// kill has another process open the store and record keys, kills it, and opens the
// store.
func (b *bench) kill() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, "-keep", "-dir", b.dir, "-dup", "50", "-length", "1h", "-keys", "0",
		"-callers", fmt.Sprint(b.load.Callers), "-index", fmt.Sprint(max(b.opt.IndexBytes>>20, -1)))
	if err := c.Start(); err != nil {
		return err
	}
	time.Sleep(10 * time.Second)
	if err := c.Process.Kill(); err != nil {
		return err
	}
	_ = c.Wait() // it was killed
	fmt.Println("- after 10 s in another process, and kill -9:")
	return b.firstBatch(1 << 40) // the process recorded some of the next keys
}

// whole verifies and exports the store.
func (b *bench) whole() error {
	s, err := b.open()
	if err != nil {
		return err
	}
	b.filled(s)
	w := startWatch()
	r, err := s.Verify(context.Background())
	if err != nil {
		return err
	}
	w.print("verify", r.Keys)
	if len(r.Findings) > 0 {
		return fmt.Errorf("verify found %d defects; the first: %s", len(r.Findings), r.Findings[0].Text)
	}
	if err := b.export(s); err != nil {
		return err
	}
	return s.Close()
}
