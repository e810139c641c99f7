package admit

import (
	"container/list"
	"sync"
)

// Places are a bounded number of places for things that come from outside and may stay for
// long. A newcomer always gets one if there is another thing to end for it: the oldest of
// its own client, if that client has its share (see Pool), else the oldest of all. Safe for
// concurrent use.
type Places struct {
	max, loose int

	mu       sync.Mutex
	pool     *Pool
	all      list.List // of *Place that may be ended, the oldest first
	byClient map[Client]*list.List
	open     int
	ended    int64
}

// Place is a place that is taken.
type Place struct {
	p      *Places
	client Client
	end    func()
	// With the places locked; in the lists while it may be ended:
	inAll, inOwn *list.Element
	left         bool
}

// NewPlaces returns so many places. Of these, loose is how many things may be there that
// were not kept.
func NewPlaces(max, loose int) *Places {
	return &Places{max: max, loose: min(max, loose), pool: NewPool(int64(max)), byClient: make(map[Client]*list.List)}
}

// Enter takes a place for something of a client, and returns nil if there is none. It may
// end another thing for it. end is called from another's Enter, at most once, and never
// after Leave or Keep.
func (p *Places) Enter(c Client, end func()) *Place {
	p.mu.Lock()
	victim := p.makeRoom(c)
	var place *Place
	if p.pool.Try(c, 1) {
		place = &Place{p: p, client: c, end: end}
		p.open++
		p.list(place)
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
func (p *Places) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Ended returns how many things were ended for others.
func (p *Places) Ended() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// The methods below are called with the places locked.

// makeRoom removes what has to end for a newcomer, and returns it, nil for nothing.
func (p *Places) makeRoom(c Client) *Place {
	var victim *Place
	switch {
	case p.pool.Try(c, 1):
		p.pool.Give(c, 1)
		if p.all.Len() < p.loose {
			return nil
		}
		victim = oldest(&p.all)
	case p.open < p.max: // the client has its share
		victim = oldest(p.byClient[c])
	default:
		victim = oldest(&p.all)
	}
	if victim != nil {
		p.ended++
		p.remove(victim)
	}
	return victim
}

func oldest(l *list.List) *Place {
	if l == nil || l.Len() == 0 {
		return nil
	}
	return l.Front().Value.(*Place)
}

func (p *Places) remove(l *Place) {
	if l.left {
		return
	}
	l.left = true
	p.open--
	p.pool.Give(l.client, 1)
	p.unlist(l)
}

func (p *Places) list(l *Place) {
	own := p.byClient[l.client]
	if own == nil {
		own = list.New()
		p.byClient[l.client] = own
	}
	l.inAll, l.inOwn = p.all.PushBack(l), own.PushBack(l)
}

func (p *Places) unlist(l *Place) {
	if l.inAll == nil {
		return
	}
	p.all.Remove(l.inAll)
	own := p.byClient[l.client]
	if own.Remove(l.inOwn); own.Len() == 0 {
		delete(p.byClient, l.client)
	}
	l.inAll, l.inOwn = nil, nil
}
