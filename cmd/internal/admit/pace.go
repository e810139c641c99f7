package admit

import (
	"sync"
	"time"
)

// Pace slows down clients that do something which costs the server much more than them. Over all
// its connections a client may do it a number of times in a burst, then once per interval. Safe for
// concurrent use.
type Pace struct {
	burst int
	every time.Duration

	mu     sync.Mutex
	until  map[Client]time.Time // what a client did is paid for then
	looked time.Time            // when those were last removed that have paid
}

// maxPause bounds a pause, and so what a client owes: time beyond it would keep slowing down a
// client long after it has stopped.
const maxPause = time.Second

// NewPace returns a Pace.
func NewPace(burst int, every time.Duration) *Pace {
	return &Pace{burst: burst, every: every, until: make(map[Client]time.Time)}
}

// Next counts n events of a client, and returns how long their connection must pause before it
// is read again.
func (p *Pace) Next(c Client, n int) time.Duration {
	if n == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, whole := time.Now(), p.whole()
	at := p.paid(c, now)
	if at = at.Add(time.Duration(n) * p.every); at.Sub(now) > whole+maxPause {
		at = now.Add(whole + maxPause)
	}
	p.until[c] = at
	return max(at.Sub(now)-whole, 0)
}

// Try counts an event of a client if it needs no pause for it, and reports whether it did.
func (p *Pace) Try(c Client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	at := p.paid(c, now).Add(p.every)
	if at.Sub(now) > p.whole() {
		return false
	}
	p.until[c] = at
	return true
}

// whole is how long a client needs to pay for a burst.
func (p *Pace) whole() time.Duration { return time.Duration(p.burst) * p.every }

// paid returns when all that a client did is paid for, now at the earliest. It is called with
// the pace locked, and sometimes removes clients that have paid.
func (p *Pace) paid(c Client, now time.Time) time.Time {
	if now.Sub(p.looked) > p.whole() {
		p.looked = now
		for c, at := range p.until {
			if at.Before(now) {
				delete(p.until, c)
			}
		}
	}
	if at := p.until[c]; at.After(now) {
		return at
	}
	return now
}

// Newcomers bounds the connections per second of addresses that no client was let in from. To
// set up a connection costs a server much more than to refuse it. An address from which a client was let in
// is not bounded, so a flood of connections from elsewhere does not refuse its connections.
// Several listeners can share a Newcomers. Safe for concurrent use.
type Newcomers struct {
	pace *Pace

	mu     sync.Mutex
	known  map[Client]time.Time // when a client was last let in, by address
	looked time.Time            // when the old ones were last removed
}

const (
	// knownFor is how long an address is known after the last connection of a client.
	knownFor = 24 * time.Hour
	// maxKnown bounds the known addresses. Beyond it no further one becomes known.
	maxKnown = 16 << 10
)

// NewNewcomers lets in so many connections in a burst, then one per interval.
func NewNewcomers(burst int, every time.Duration) *Newcomers {
	return &Newcomers{pace: NewPace(burst, every), known: make(map[Client]time.Time)}
}

// Enter reports whether a new connection from an address may be set up.
func (n *Newcomers) Enter(c Client) bool { return n.knows(c) || n.pace.Try(Client{}) }

func (n *Newcomers) knows(c Client) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.known[c]
	return ok && time.Since(at) < knownFor
}

// Know makes an address known.
func (n *Newcomers) Know(c Client) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.looked) > knownFor/4 {
		n.looked = now
		for c, at := range n.known {
			if now.Sub(at) >= knownFor {
				delete(n.known, c)
			}
		}
	}
	if _, ok := n.known[c]; ok || len(n.known) < maxKnown {
		n.known[c] = now
	}
}
