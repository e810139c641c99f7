package admit

import (
	"sync"
	"time"
)

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
