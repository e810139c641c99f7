package admit

import (
	"container/list"
	"context"
	"sync"
)

// greed is how many times as much as is free one client may hold. One client alone gets
// three quarters of a pool, each of two 3/7, each of n 3/(3n+1); something is always free
// for a client that comes later. (Choudhury and Hahne, "Dynamic queue length thresholds
// for shared-memory packet switches", 1998.)
const greed = 3

// Pool is an amount of something that clients share, such as bytes or calls. Safe for
// concurrent use.
//
// A client that holds nothing gets what is free, in order of arrival; no other client overtakes
// it while it waits. A client that holds something gets more while it holds at most greed
// times as much as would be left.
type Pool struct {
	total int64

	mu      sync.Mutex
	free    int64
	held    map[Client]int64
	waiting list.List // of *taker, in order of arrival
}

// taker is a call of Take that waits.
type taker struct {
	client Client
	n      int64
	got    chan struct{} // closed when it has got n
}

// NewPool returns a pool of an amount.
func NewPool(total int64) *Pool {
	return &Pool{total: total, free: total, held: make(map[Client]int64)}
}

// Try takes n for a client if that is possible immediately, and reports whether it was.
func (p *Pool) Try(c Client, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting.Len() > 0 || !p.allowed(c, n) {
		return false
	}
	p.move(c, n)
	return true
}

// Take waits until it can take n for a client, or half of the pool if that is less, and
// returns how much it took. The caller must return that with Give. The error is that of ctx.
func (p *Pool) Take(ctx context.Context, c Client, n int64) (int64, error) {
	n = p.Most(n)
	p.mu.Lock()
	if p.waiting.Len() == 0 && p.allowed(c, n) {
		p.move(c, n)
		p.mu.Unlock()
		return n, nil
	}
	t := &taker{c, n, make(chan struct{})}
	place := p.waiting.PushBack(t)
	p.grant()
	p.mu.Unlock()
	select {
	case <-t.got:
		return n, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-t.got:
		return n, nil
	default:
	}
	p.waiting.Remove(place)
	p.grant() // it may have been the first, which others must not overtake
	return 0, ctx.Err()
}

// Most returns n, or half of the pool if that is less. What costs more is charged so much:
// it would wait for every other client, and every other client for it.
func (p *Pool) Most(n int64) int64 { return min(n, max(1, p.total/2)) }

// Give returns n units, which a client took, to the pool.
func (p *Pool) Give(c Client, n int64) {
	if n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.move(c, -n)
	p.grant()
}

// Held returns how much all clients hold together.
func (p *Pool) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total - p.free
}

// Waits reports whether a client waits for some of the pool.
func (p *Pool) Waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.Len() > 0
}

// The methods below are called with the pool locked.

// allowed reports whether a client may take n now.
func (p *Pool) allowed(c Client, n int64) bool {
	held := p.held[c]
	return n <= p.free && (held == 0 || held+n <= greed*(p.free-n))
}

func (p *Pool) move(c Client, n int64) {
	p.free -= n
	if p.held[c] += n; p.held[c] == 0 {
		delete(p.held, c)
	}
}

// grant serves the calls of Take that wait.
func (p *Pool) grant() {
	for e := p.waiting.Front(); e != nil; {
		t, next := e.Value.(*taker), e.Next()
		switch {
		case p.allowed(t.client, t.n):
			p.move(t.client, t.n)
			close(t.got)
			p.waiting.Remove(e)
		case p.held[t.client] == 0:
			return // later callers must not overtake it
		}
		e = next
	}
}

// Places are a bounded number of places for things that come from outside and may stay for
// long. A newcomer always gets one if there is another thing to end for it: the oldest of
// its own client, if that client has its share (see Pool), else the oldest of all. Safe for
// concurrent use.
type Places struct {
	max, loose int

	mu    sync.Mutex
	pool  *Pool
	all   list.List // of *Place that may be ended, the oldest first
	ended int64
}

// Place is a place that is taken.
type Place struct {
	p      *Places
	client Client
	end    func()
	// With the places locked:
	inAll *list.Element // nil if it may not be ended
	left  bool
}

// NewPlaces returns so many places. Of these, loose is how many things may be there that
// were not kept.
func NewPlaces(max, loose int) *Places {
	return &Places{max: max, loose: min(max, loose), pool: NewPool(int64(max))}
}

// Enter takes a place for something of a client, and returns nil if there is none. It may
// end another thing for it. end is called from another's Enter, at most once, and never
// after Leave or Keep.
func (p *Places) Enter(c Client, end func()) *Place {
	p.mu.Lock()
	got := p.pool.Try(c, 1)
	var victim *Place
	switch {
	case !got && p.Open() < p.max: // the client has its share
		victim = p.oldest(&c)
	case !got || p.all.Len() >= p.loose:
		victim = p.oldest(nil)
	}
	if victim != nil {
		p.ended++
		p.remove(victim)
	}
	var place *Place
	if got || p.pool.Try(c, 1) {
		place = &Place{p: p, client: c, end: end}
		place.inAll = p.all.PushBack(place)
	}
	p.mu.Unlock()
	if victim != nil {
		victim.end()
	}
	return place
}

// Keep protects the thing from being ended for another.
func (l *Place) Keep() {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.p.unlist(l)
}

// Leave frees the place. A second call does nothing.
func (l *Place) Leave() {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.p.remove(l)
}

// Open returns how many places are taken.
func (p *Places) Open() int { return int(p.pool.Held()) }

// Ended returns how many things were ended for others.
func (p *Places) Ended() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// The methods below are called with the places locked.

// oldest returns the oldest thing that may be ended, of all or of a client. One that has its share is mostly near the front.
func (p *Places) oldest(of *Client) *Place {
	for e := p.all.Front(); e != nil; e = e.Next() {
		if l := e.Value.(*Place); of == nil || l.client == *of {
			return l
		}
	}
	return nil
}

func (p *Places) remove(l *Place) {
	if l.left {
		return
	}
	l.left = true
	p.pool.Give(l.client, 1)
	p.unlist(l)
}

func (p *Places) unlist(l *Place) {
	if l.inAll != nil {
		p.all.Remove(l.inAll)
		l.inAll = nil
	}
}
