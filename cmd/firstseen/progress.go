package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// progress shows on a terminal how far a command is.
type progress struct {
	w     io.Writer
	done  chan struct{}
	group sync.WaitGroup
}

// showProgress shows what line returns after a time, twice a second, if w is a terminal.
func showProgress(w io.Writer, line func(passed time.Duration) string) *progress {
	p := &progress{w: w, done: make(chan struct{})}
	if !isTerminal(w) {
		return p
	}
	start := time.Now()
	p.group.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(w, "\r%s\x1b[K", line(time.Since(start)))
			}
		}
	})
	return p
}

func (p *progress) stop() {
	close(p.done)
	p.group.Wait()
}

// progressLine is the line that is shown after a time: URLs, rate, exact repeats, unique
// ones and, when the size of the input is known, how much of it is left.
func progressLine(c *replay.Counters, read, total int64, passed time.Duration) string {
	urls := c.URLs.Load()
	line := fmt.Sprintf("%s URLs, %s/s, %s exact, %s unique", grouped(urls),
		grouped(int64(float64(urls)/max(passed.Seconds(), 1e-3))), percent(c.Exact.Load(), urls), grouped(c.Unique.Load()))
	if total == 0 || read == 0 {
		return line
	}
	return line + ", " + inputLine(read, total, passed)
}

// inputLine is how much of the input was read, and how long the rest will take.
func inputLine(read, total int64, passed time.Duration) string {
	if total == 0 || read == 0 {
		return grouped(read>>10) + " KiB read"
	}
	left := time.Duration(float64(passed) * float64(max(total-read, 0)) / float64(read))
	return fmt.Sprintf("%s of the input, %v left", percent(read, total), left.Round(time.Second))
}

// inputLine is that of the files of a set.
func (s *fileSet) inputLine(passed time.Duration) string {
	read, total := s.read()
	return inputLine(read, total, passed)
}
