package client

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/internal/wire"
)

const (
	// asksAtOnce and bytesAtOnce bound what travels in one request.
	asksAtOnce  = 1024
	bytesAtOnce = 512 << 10
)

// ask is one URL to offer or one lease to settle: a line on the wire, and the
// daemon's answer. While it is in flight it belongs to the goroutine that sends it, then to the caller.
type ask struct {
	line     []byte
	brief    bool // the key and the verdict are enough
	sent     bool // a sending went unanswered
	answered bool
	verdict  wire.VerdictLine
	settled  string
}

// part is the asks of one call, which travel together.
type part struct {
	asks []ask
	err  error
	done chan struct{} // closed when all are answered, or err is set
	gone atomic.Bool   // its caller no longer waits
}

// batcher lets calls share requests. While all requests it may have are under
// way, calls gather, and the next request takes what has gathered: nothing
// waits for company, and the busier the daemon the fuller the requests.
type batcher struct {
	c    *Client
	what string
	// send makes one request of asks and fills in the answers.
	send func(context.Context, []*ask) error

	mu      sync.Mutex
	pending []*part // guarded by mu
	lanes   int     // guarded by mu; goroutines that send
}

// call sends asks and waits for their answers. If ctx ends first, asks that are not in flight are not
// sent; those in flight belong to the sender.
func (b *batcher) call(ctx context.Context, asks []ask) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &part{asks: asks, done: make(chan struct{})}
	b.mu.Lock()
	b.pending = append(b.pending, p)
	if b.lanes < b.c.opt.requests {
		b.lanes++
		b.c.working.Go(b.run)
	}
	b.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.gone.Store(true)
		return ctx.Err()
	}
}

// run sends pending asks until there are none.
func (b *batcher) run() {
	for parts := b.take(); len(parts) > 0; parts = b.take() {
		b.deliver(parts)
	}
}

// take takes what fits into a request, at least one part. With none, the
// goroutine that asks must end.
func (b *batcher) take() []*part {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, asks, size := 0, 0, 0
	for _, p := range b.pending {
		for i := range p.asks {
			size += len(p.asks[i].line)
		}
		if asks += len(p.asks); n > 0 && (asks > asksAtOnce || size > bytesAtOnce) {
			break
		}
		n++
	}
	parts := b.pending[:n:n]
	if b.pending = b.pending[n:]; n == 0 {
		b.lanes--
		b.pending = nil
	}
	return parts
}

// deliver sends parts until all are answered. A call returns as soon as its own asks are answered: it does not wait
// while others are sent again. When the daemon refuses a request of several permanently, each goes alone, so that no call
// pays for another's fault.
func (b *batcher) deliver(parts []*part) {
	err := b.c.persist(context.Background(), b.what, func(ctx context.Context) error {
		asks := unanswered(parts)
		if len(asks) == 0 {
			return nil
		}
		err := b.send(ctx, asks)
		if parts = release(parts); len(parts) == 0 {
			return nil
		}
		return err
	})
	if err != nil && !isTemporary(err) && len(parts) > 1 {
		for _, p := range parts {
			b.deliver([]*part{p})
		}
		return
	}
	for _, p := range release(parts) {
		p.err = err
		close(p.done)
	}
}

// release ends the calls whose asks are answered, or whose callers are gone, and returns the other parts.
func release(parts []*part) (left []*part) {
	for _, p := range parts {
		if len(unanswered([]*part{p})) > 0 {
			left = append(left, p)
		} else {
			close(p.done)
		}
	}
	return left
}

// unanswered returns the asks to be sent for callers that still wait.
func unanswered(parts []*part) []*ask {
	var asks []*ask
	for _, p := range parts {
		if p.gone.Load() {
			continue
		}
		for i := range p.asks {
			if !p.asks[i].answered {
				asks = append(asks, &p.asks[i])
			}
		}
	}
	return asks
}

// markSent says of asks without an answer that they were sent.
func markSent(asks []*ask) {
	for _, a := range asks {
		a.sent = a.sent || !a.answered
	}
}
