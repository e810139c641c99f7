package frontier

import (
	"sync"

	"github.com/firstseen/firstseen/internal/async"
)

// queueName names a queue of a crawl.
type queueName struct{ crawl, queue string }

// purges are the queues in which an excluded URL was met, and whose others are to be dropped.
// One goroutine does so while there are any. The zero value is empty.
type purges struct {
	mu      sync.Mutex
	pending map[queueName]bool
	running bool
}

// maxPurges bounds the queues that wait. A queue beyond them is met again.
const maxPurges = 1024

// add makes a queue wait; the call of the frontier that adds it must be one that Close waits for.
func (p *purges) add(f *Frontier, crawl, queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) >= maxPurges {
		return
	}
	if p.pending == nil {
		p.pending = make(map[queueName]bool)
	}
	p.pending[queueName{crawl, queue}] = true
	if !p.running {
		p.running = true
		f.working.Go(func() { p.run(f) })
	}
}

func (p *purges) run(f *Frontier) {
	for q, ok := p.next(f); ok; q, ok = p.next(f) {
		f.purgeQueue(q)
	}
}

// next takes a queue. If there is none, or the frontier closes, run must end.
func (p *purges) next(f *Frontier) (q queueName, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.isClosing() {
		clear(p.pending)
	}
	for q = range p.pending {
		delete(p.pending, q)
		return q, true
	}
	p.running = false
	return q, false
}

func (f *Frontier) isClosing() bool { return async.Closed(f.closing) }
