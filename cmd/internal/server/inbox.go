package server

import (
	"context"
	"sync"
)

const (
	// windowBytes is about how many bytes of messages one call may have waiting.
	windowBytes = 1 << 20
	// slab is how many bytes a call takes from the common budget at once.
	slab = 64 << 10
)

// inbox hands messages from the goroutine that reads a stream to the one that
// commits them. Whatever arrived while a commit was under way is the next
// batch: under load batches grow by themselves, and a lone message never
// waits. A full inbox stops the reading, and so, by flow control, the client.
type inbox[T any] struct {
	window int     // greatest number of messages waiting
	budget *budget // bytes, shared by all calls

	mu      sync.Mutex
	changed chan struct{} // has room for one; something was put or taken
	room    chan struct{}
	waiting parcel[T]
	err     error // the end of the stream, io.EOF for a good one
}

// parcel is a batch and what must be given back after it.
type parcel[T any] struct {
	messages []T
	bytes    int64
	credit   int64
	returns  []func()
}

// done gives back the parcel's share of the budget.
func (p *parcel[T]) done() {
	for _, back := range p.returns {
		back()
	}
}

func newInbox[T any](window int, b *budget) *inbox[T] {
	return &inbox[T]{window: window, budget: b, changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// read fills the inbox from recv until it fails. size is a message's bytes.
func (in *inbox[T]) read(ctx context.Context, recv func() (T, error), size func(T) int) {
	for {
		m, err := recv()
		if err == nil {
			err = in.put(ctx, m, int64(size(m)))
		}
		if err != nil {
			in.end(err)
			return
		}
	}
}

func (in *inbox[T]) put(ctx context.Context, m T, n int64) error {
	for {
		placed, short, err := in.place(m, n)
		switch {
		case placed || err != nil:
			return err
		case short:
			if err := in.buy(ctx, max(n, slab)); err != nil {
				return err
			}
		default:
			if err := wait(ctx, in.room); err != nil {
				return err
			}
		}
	}
}

// place puts a message in if there is room; short says that what lacks is
// credit. After the end there is no room.
func (in *inbox[T]) place(m T, n int64) (placed, short bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	w := &in.waiting
	if in.err != nil {
		return false, false, in.err
	}
	if len(w.messages) >= in.window || len(w.messages) > 0 && w.bytes+n > windowBytes {
		return false, false, nil
	}
	if w.bytes+n > w.credit {
		return false, true, nil
	}
	w.messages = append(w.messages, m)
	w.bytes += n
	if len(w.messages) == 1 {
		signal(in.changed)
	}
	return true, false, nil
}

// buy adds n bytes of the common budget to the waiting parcel.
func (in *inbox[T]) buy(ctx context.Context, n int64) error {
	back, err := in.budget.take(ctx, n)
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting.credit += n
	in.waiting.returns = append(in.waiting.returns, back)
	return nil
}

// end lets nothing more in. The first end counts.
func (in *inbox[T]) end(err error) {
	in.mu.Lock()
	if in.err == nil {
		in.err = err
	}
	in.mu.Unlock()
	signal(in.changed)
}

// take returns what is waiting, at once if there is something, and the end of
// the stream once nothing is. Once stop is closed nothing more is let in: a
// client that sends on would keep the stream going.
func (in *inbox[T]) take(ctx context.Context, stop <-chan struct{}) (parcel[T], error) {
	for {
		select {
		case <-stop:
			in.end(errDraining)
		default:
		}
		if p, err := in.grab(); err != nil || len(p.messages) > 0 {
			return p, err
		}
		select {
		case <-in.changed:
		case <-stop:
		case <-ctx.Done():
			return parcel[T]{}, ctx.Err()
		}
	}
}

func (in *inbox[T]) grab() (parcel[T], error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := in.waiting
	if len(p.messages) == 0 {
		return parcel[T]{}, in.err
	}
	in.waiting = parcel[T]{messages: make([]T, 0, min(2*len(p.messages), in.window))}
	signal(in.room)
	return p, nil
}

// close gives back what nobody took.
func (in *inbox[T]) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting.done()
	in.waiting = parcel[T]{}
}

// signal leaves a note in a channel with room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
