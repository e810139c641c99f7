package pebblestore

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// pace slows the committer down while it writes more than compactions or flushes to runs can
// keep up with. Left alone, Pebble lets writers take the processors that its
// compactions need until L0 is too deep, and then stops them for seconds; and packed keys
// fill the memory. Here, from half that depth on, the committer waits after each write, the
// longer the deeper L0 is, so that writes become as slow as compactions before they have to
// stop. pace itself stops them when L0 is full: if Pebble did, a store whose disk fails could not end that.
// Packed keys count as depth: tuning.lagKeys of them are as much as a full L0.
type pace struct {
	depth func() int // asks Pebble how many sublevels L0 has
	every int        // bytes written between two questions

	deep  int       // as Pebble last said
	asked time.Time // when
	since int       // bytes written since
	until time.Time // before which nothing more is to be written

	waited atomic.Int64 // ns in all
}

const (
	// paceStop is how many sublevels of L0 are full, and paceFrom where waiting begins.
	paceStop, paceFrom = 64, paceStop / 2
	// paceRate is the bytes a second allowed when L0 is halfway between them: as many as compactions
	// manage on two otherwise idle processors.
	paceRate = 32 << 20
	// Waits shorter than paceLeast are added up first, since timers are no more exact;
	// a group waits at most paceMost, since others wait for it.
	paceLeast, paceMost = time.Millisecond, time.Second / 4
	// lagKeys is eight flushes, 67 MB of packed keys.
	lagKeys = 8 * flushKeys
	// paceFresh is how old an answer of Pebble may be once writers wait.
	paceFresh = 20 * time.Millisecond
)

// newPace also sets how many compactions Pebble may run: a second and third when L0 is deep or there is much to
// do. With only one, a crawl of new keys waits.
func newPace(db *pebble.DB, h *health, memTableBytes int) *pace {
	return &pace{
		depth: func() int {
			m := db.Metrics()
			deep := int(m.Levels[0].Sublevels)
			h.compactions.Store(int32(1 + max(deep/10, int(m.Compact.EstimatedDebt>>30))))
			return deep
		},
		every: memTableBytes / 8,
	}
}

// lag returns the depth that packed keys count as.
func (s *Store) lag() int {
	return int(s.packed * paceStop / int64(s.opt.lagKeys))
}

// charge notes that n bytes were written, while packed keys count as a depth.
func (p *pace) charge(n, lag int) {
	if n == 0 { // a group that wrote nothing
		return
	}
	now := time.Now()
	p.since += n
	if p.since >= p.every || p.deep > paceFrom && now.Sub(p.asked) >= paceFresh {
		p.deep, p.asked, p.since = p.depth(), now, 0
	}
	if p.until.Before(now) {
		p.until = now
	}
	p.until = p.until.Add(p.price(n, max(p.deep, lag)))
}

// price returns how long n bytes have to wait. At a depth x of the way from
// paceFrom to paceStop, bytes are written at paceRate × (1-x)/x.
func (p *pace) price(n, deep int) time.Duration {
	behind, left := deep-paceFrom, max(paceStop-deep, 1)
	if behind <= 0 {
		return 0
	}
	seconds := float64(n) / paceRate * float64(behind) / float64(left)
	return min(time.Duration(seconds*float64(time.Second)), paceMost)
}

// waiting counts the time until the returned function is called.
func (p *pace) waiting() (end func()) {
	start := time.Now()
	return func() { p.waited.Add(int64(time.Since(start))) }
}

// wait waits as long as price says and while L0 is full, unless the store dies or is closed.
func (p *pace) wait(dead, closing <-chan struct{}) {
	start := time.Now()
	d := p.until.Sub(start)
	if d < paceLeast && p.deep < paceStop {
		return
	}
	defer p.waiting()()
	for {
		select {
		case <-time.After(d):
		case <-dead:
			return
		case <-closing:
			return
		}
		if p.deep < paceStop {
			return
		}
		p.deep, p.asked, d = p.depth(), time.Now(), paceFresh
	}
}
