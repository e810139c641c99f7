package admit

import (
	"sync"
	"time"
)

// Pace slows down clients that do something which costs the server much more than them. A
// client may do it so many times immediately, and afterwards once every so often, over all of
// its connections. Safe for concurrent use.
type Pace struct {
	burst int
	every time.Duration

	mu     sync.Mutex
	until  map[Client]time.Time // what a client did is paid for then
	looked time.Time            // when those were last removed that have paid
}

// maxPause bounds how long a connection pauses for one event.
const maxPause = time.Second

// NewPace returns a Pace.
func NewPace(burst int, every time.Duration) *Pace {
	return &Pace{burst: burst, every: every, until: make(map[Client]time.Time)}
}

// Next counts an event of a client, and returns how long its connection must pause.
func (p *Pace) Next(c Client) time.Duration {
	now, whole := time.Now(), time.Duration(p.burst)*p.every
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.looked) > whole {
		p.looked = now
		for c, at := range p.until {
			if at.Before(now) {
				delete(p.until, c)
			}
		}
	}
	at := p.until[c]
	if at.Before(now) {
		at = now
	}
	at = at.Add(p.every)
	p.until[c] = at
	return min(max(at.Sub(now)-whole, 0), maxPause)
}
