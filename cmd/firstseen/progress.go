package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// progress shows on a terminal how a replay goes on.
type progress struct {
	w     io.Writer
	done  chan struct{}
	group sync.WaitGroup
}

// showProgress begins to show it, if w is a terminal.
func showProgress(w io.Writer, files *fileSet, c *replay.Counters) *progress {
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
				read, total := files.read()
				fmt.Fprintf(w, "\r%s\x1b[K", progressLine(c, read, total, time.Since(start)))
			}
		}
	})
	return p
}

func (p *progress) stop() {
	close(p.done)
	p.group.Wait()
}

// progressLine is what is shown after a time: URLs, rate, exact repeats, unique
// ones and, when the size of the input is known, how much of it is left.
func progressLine(c *replay.Counters, read, total int64, passed time.Duration) string {
	urls := c.URLs.Load()
	line := fmt.Sprintf("%s URLs, %s/s, %s exact, %s unique", grouped(urls),
		grouped(int64(float64(urls)/max(passed.Seconds(), 1e-3))), percent(c.Exact.Load(), urls), grouped(c.Unique.Load()))
	if total == 0 || read == 0 {
		return line
	}
	left := time.Duration(float64(passed) * float64(max(total-read, 0)) / float64(read))
	return fmt.Sprintf("%s, %s of the input, %v left", line, percent(read, total), left.Round(time.Second))
}
