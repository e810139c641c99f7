package admit

import (
	"crypto/sha256"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Connections are the bounds of a Listener.
type Connections struct {
	// Max bounds the open connections. An address has a share of them.
	Max int
	// Strangers bounds those of them that are not known. The default is Max.
	Strangers int
	// WriteTimeout closes a connection if its client reads nothing for so long while the
	// server writes. The default is no bound.
	WriteTimeout time.Duration
	// Newcomers bounds the new connections of addresses that are not known. The default is
	// no bound.
	Newcomers *Newcomers
}

// Listener accepts every connection, so that no client waits in the kernel's queue until
// another disconnects. A connection is a stranger's until it is known. If there are too many
// connections, the listener closes the oldest of a stranger, see Places; if there is none, it
// closes the new one.
type Listener struct {
	net.Listener
	places  *Places
	fresh   *Newcomers
	timeout time.Duration
	refused atomic.Int64
	setups  chan struct{} // holds something for each connection that is being set up
	done    chan struct{} // closed with the listener
	close   func() error
}

// Listen returns a listener with bounds, on another.
func Listen(l net.Listener, c Connections) *Listener {
	if c.Strangers <= 0 {
		c.Strangers = c.Max
	}
	done := make(chan struct{})
	closed := sync.OnceValue(func() error {
		close(done)
		return l.Close()
	})
	return &Listener{done: done, close: closed, Listener: l, places: NewPlaces(c.Max, c.Strangers), fresh: c.Newcomers, timeout: c.WriteTimeout, setups: make(chan struct{}, maxSetups)}
}

// Closed returns how many connections were closed because there were too many.
func (l *Listener) Closed() int64 { return l.refused.Load() + l.places.Ended() }

// Open returns how many connections are open.
func (l *Listener) Open() int { return l.places.Open() }

// Close implements net.Listener.
func (l *Listener) Close() error { return l.close() }

// Accept implements net.Listener. The connection is a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		select {
		case l.setups <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
		inner, err := l.Listener.Accept()
		if err != nil {
			<-l.setups
			return nil, err
		}
		if c := l.enter(inner); c != nil {
			return c, nil
		}
		l.refused.Add(1)
		<-l.setups
		abort(inner)
		runtime.Gosched() // a flood of refused connections lets others have the processor
	}
}

// enter returns the connection if it may be set up, else nil.
func (l *Listener) enter(inner net.Conn) *Conn {
	client := ByAddress(inner.RemoteAddr())
	if l.fresh != nil && !l.fresh.Enter(client) {
		return nil
	}
	place := l.places.Enter(client, func() { abort(inner) })
	if place == nil {
		return nil
	}
	return &Conn{setup: sync.OnceFunc(func() { <-l.setups }), Conn: inner, client: client, place: place, fresh: l.fresh, timeout: l.timeout}
}

// maxSetups bounds the connections that the server has accepted and does not read yet. Without a
// bound, thousands of goroutines set up new connections, and each step of a call waits until all of them had a processor.
const maxSetups = 16

// abort closes a connection and discards the bytes that the kernel has not sent.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: the connection ends either way
	}
	_ = c.Close() // best effort, as above
}

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	client  Client // by its address
	place   *Place
	fresh   *Newcomers
	timeout time.Duration
	known   atomic.Bool
	setup   func() // ends the setup
}

// Client returns the client by its address.
func (c *Conn) Client() Client { return c.client }

// Known marks the connection as one of a client that may use the server. It is cheap after the
// first call.
func (c *Conn) Known() {
	if !c.known.Load() && !c.known.Swap(true) {
		c.widen()
		c.place.Keep()
		c.know()
	}
}

// know makes the address of the connection known.
func (c *Conn) know() {
	if c.fresh != nil {
		c.fresh.Know(c.client)
	}
}

// Send buffers of the kernel. By default a connection whose client reads nothing fills 4 MiB,
// and all of them together so much that the kernel slows every connection of the machine down.
// Receive buffers need no bound: they stay small while the server reads nothing.
const strangeBuffer, knownBuffer = 32 << 10, 256 << 10

// Control is for net.ListenConfig. It sets the send buffer of a port to that of strangers, which
// its connections inherit.
func Control(_, _ string, c syscall.RawConn) error { return setSendBuffer(c, strangeBuffer) }

// widen sets the send buffer to that of a known connection.
func (c *Conn) widen() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(knownBuffer) // the small one also works
	}
}

// IsKnown reports whether Known was called.
func (c *Conn) IsKnown() bool { return c.known.Load() }

// Abort closes the connection and discards the bytes that the kernel has not sent.
func (c *Conn) Abort() { abort(c.Conn) }

// writePiece is how many bytes a client must read within the listener's WriteTimeout.
const writePiece = 64 << 10

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if c.setup != nil {
		c.setup()
	}
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (n int, err error) {
	if c.timeout <= 0 {
		return c.Conn.Write(b)
	}
	for {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(b[n:min(len(b), n+writePiece)])
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if c.setup != nil {
		c.setup()
	}
	if c.IsKnown() {
		c.know()
	}
	c.place.Leave()
	return c.Conn.Close()
}

// Client is whom limits count for: a token, or an address where there is none. The zero
// value is a client of unknown address.
type Client struct {
	token [sha256.Size]byte // digest
	addr  netip.Prefix
}

// ByToken returns the client that has a token, given the token's digest.
func ByToken(digest [sha256.Size]byte) Client { return Client{token: digest} }

// ByAddress returns the client at an address. One machine can have all addresses of an
// IPv6 network of 64 bits, so these are one client.
func ByAddress(a net.Addr) Client {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return Client{}
	}
	ip, ok := netip.AddrFromSlice(tcp.IP)
	if !ok {
		return Client{}
	}
	ip = ip.Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return Client{}
	}
	return Client{addr: prefix}
}

// Address returns the address for logs, "" for a client that has a token.
func (c Client) Address() string {
	if !c.addr.IsValid() {
		return ""
	}
	if c.addr.Addr().Is4() {
		return c.addr.Addr().String()
	}
	return c.addr.String()
}

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
