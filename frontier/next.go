package frontier

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/firstseen/firstseen/store"
)

// line is the line of callers waiting in Next. While there are any, one
// goroutine takes leases for all of them together, so that a durable hand-out
// is paid once for many, and sleeps between: until something changed, or until
// the time the store named.
type line struct {
	mu      sync.Mutex
	waiting []*waiter
	serving bool          // the goroutine is there
	wake    chan struct{} // closed and replaced when something changed
	// watching is how many wait for a change in LeaseWait.
	watching int
}

// waiter is one caller; got has room for its one answer.
type waiter struct {
	got  chan answer
	ends bool // wants errFinished when nothing is held any more
}

type answer struct {
	lease *Lease
	err   error
}

// errFinished tells a waiter that nothing is queued or leased.
var errFinished = errors.New("frontier: nothing is queued or leased")

// maxTogether bounds what is taken at once for those who wait.
const maxTogether = 256

// Next waits until something may be fetched and hands it out. It returns the
// error of ctx, or store.ErrClosed after Close. Waiting costs nothing: it ends
// with an add, a settlement, or the time a queue may be served.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) { return f.next(ctx, false) }

// Leases yields what Next returns, until the crawl is finished: nothing is
// queued and nothing is leased, in any crawl. It ends with the first error.
// Several goroutines may each range over their own Leases. An unsettled lease
// keeps all of them waiting, since it may still add URLs.
func (f *Frontier) Leases(ctx context.Context) iter.Seq2[*Lease, error] {
	return func(yield func(*Lease, error) bool) {
		for {
			lease, err := f.next(ctx, true)
			if errors.Is(err, errFinished) || !yield(lease, err) || err != nil {
				return
			}
		}
	}
}

func (f *Frontier) next(ctx context.Context, ends bool) (*Lease, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &waiter{got: make(chan answer, 1), ends: ends}
	f.join(w)
	select {
	case a := <-w.got:
		return a.lease, a.err
	case <-ctx.Done():
		return f.leaveLine(w, ctx.Err())
	case <-f.closing:
		return f.leaveLine(w, store.ErrClosed)
	}
}

// join puts a waiter in line and sees to it that it is served.
func (f *Frontier) join(w *waiter) {
	f.line.mu.Lock()
	defer f.line.mu.Unlock()
	f.line.waiting = append(f.line.waiting, w)
	if !f.line.serving {
		f.line.serving = true
		f.working.Go(f.serveLine)
		return
	}
	if w.ends { // the others would find what those before them found: nothing
		f.line.signal()
	}
}

// leaveLine takes a waiter out. If it was served meanwhile, it keeps what it got.
func (f *Frontier) leaveLine(w *waiter, err error) (*Lease, error) {
	f.line.mu.Lock()
	i := slices.Index(f.line.waiting, w)
	if i >= 0 {
		f.line.waiting = slices.Delete(f.line.waiting, i, i+1)
		f.line.signal()
	}
	f.line.mu.Unlock()
	if i >= 0 {
		return nil, err
	}
	a := <-w.got
	return a.lease, a.err
}

// wake tells those who wait that something changed.
func (f *Frontier) wake() {
	f.line.mu.Lock()
	defer f.line.mu.Unlock()
	f.line.signal()
}

func (l *line) signal() {
	if l.serving || l.watching > 0 {
		close(l.wake)
		l.wake = make(chan struct{})
	}
}

// serveLine serves those who wait until there are none.
func (f *Frontier) serveLine() {
	for {
		n, changed := f.line.ask()
		if n == 0 {
			return
		}
		leases, next, err := f.take(context.Background(), LeaseRequest{Max: min(n, maxTogether)})
		switch {
		case err != nil:
			f.line.tellAll(answer{err: err})
		case len(leases) > 0:
			f.giveBack(f.line.hand(leases))
		default:
			f.tellFinished()
			f.sleep(context.Background(), next, changed)
		}
	}
}

// ask returns how many wait, and a channel that is closed at the next change.
// With none, the goroutine that asks must end.
func (l *line) ask() (int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = len(l.waiting) > 0
	return len(l.waiting), l.wake
}

// hand gives leases to those first in line, and returns what is left when some
// of them went away.
func (l *line) hand(leases []*Lease) (left []*Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(leases), len(l.waiting))
	for i, w := range l.waiting[:n] {
		w.got <- answer{lease: leases[i]}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	return leases[n:]
}

// tellAll answers all who wait.
func (l *line) tellAll(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w.got <- a
	}
	l.waiting = nil
}

// tellFinished ends the waiting of those who want to know when nothing is held.
func (f *Frontier) tellFinished() {
	stats, err := f.store.Stats(context.Background(), "*")
	if err == nil && stats.Held > 0 {
		return
	}
	if err == nil {
		err = errFinished
	}
	f.line.mu.Lock()
	defer f.line.mu.Unlock()
	f.line.waiting = slices.DeleteFunc(f.line.waiting, func(w *waiter) bool {
		if w.ends {
			w.got <- answer{err: err}
		}
		return w.ends
	})
}

// giveBack releases leases nobody took.
func (f *Frontier) giveBack(left []*Lease) {
	for _, l := range left {
		// If this fails the lease runs out by itself.
		_, _ = f.settle(context.Background(), []Settlement{{Lease: l, Outcome: Release}})
	}
}
