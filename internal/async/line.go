package async

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
)

// ErrFinished is the answer to callers that asked for it when nothing is left to wait for.
var ErrFinished = errors.New("nothing is queued or leased")

// MaxTogether bounds the things that are got in one call for several callers.
const MaxTogether = 256

// Owner is notified of changes to its line, with the line locked.
type Owner interface {
	// Serve starts the goroutine that serves the line until Begin returns 0.
	Serve()
	// Joined is called when a caller joins while the goroutine runs; ends is as in Wait.
	Joined(ends bool)
	// Left is called when a caller left with nothing; the argument is how many still wait.
	Left(waiting int)
}

// Line lets many callers wait for things together: for leases of a frontier in the process, or of a
// daemon. While callers wait, one goroutine fetches leases for all of them, so that they share one
// durable hand-out. The owner of a line supplies the function that fetches leases, and reports when
// there may be more.
//
// The zero value is an empty line. Its methods may be called by any goroutine.
type Line[T any] struct {
	// Alone is set if everything got in one call goes to one caller. It is set before the first
	// call. The default is that several share it.
	Alone bool

	mu      sync.Mutex
	waiting []*waiter[T]
	serving bool // the goroutine is there
}

// waiter is one caller; got has room for its one answer.
type waiter[T any] struct {
	got  chan answer[T]
	max  int  // wants at most so many things
	ends bool // wants ErrFinished when nothing is left
}

type answer[T any] struct {
	things []T
	err    error
}

// Wait waits in line for 1 to max things. It returns the error of ctx, or closed
// when closing is closed; with ends also ErrFinished.
func (l *Line[T]) Wait(ctx context.Context, closing <-chan struct{}, closed error, owner Owner, max int, ends bool) ([]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &waiter[T]{got: make(chan answer[T], 1), max: max, ends: ends}
	l.join(w, owner)
	select {
	case a := <-w.got:
		return a.things, a.err
	case <-ctx.Done():
		return l.leave(w, owner, ctx.Err())
	case <-closing:
		return l.leave(w, owner, closed)
	}
}

// All yields what next returns until that is ErrFinished, and ends with the first
// other error.
func All[T any](next func() (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			what, err := next()
			if errors.Is(err, ErrFinished) || !yield(what, err) || err != nil {
				return
			}
		}
	}
}

// join puts a waiter in line and sees to it that it is served.
func (l *Line[T]) join(w *waiter[T], owner Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, w)
	if !l.serving {
		l.serving = true
		owner.Serve()
		return
	}
	owner.Joined(w.ends)
}

// leave takes a waiter out. If it was served in the meantime, it keeps what it got.
func (l *Line[T]) leave(w *waiter[T], owner Owner, err error) ([]T, error) {
	l.mu.Lock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		owner.Left(len(l.waiting))
	}
	l.mu.Unlock()
	if i >= 0 {
		return nil, err
	}
	a := <-w.got
	return a.things, a.err
}

// Begin returns how many things to get together for the first callers in line, and
// calls do with the line locked; ends reports whether a caller waits for ErrFinished.
// If no caller waits it returns 0, and the serving goroutine must end.
func (l *Line[T]) Begin(do func(ends bool)) (want int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = len(l.waiting) > 0
	do(slices.ContainsFunc(l.waiting, func(w *waiter[T]) bool { return w.ends }))
	for i, w := range l.waiting {
		if i > 0 && (l.Alone || want+w.max > MaxTogether) {
			break
		}
		want += w.max
	}
	return want
}

// Locked calls do with the line locked. serving reports whether the line is served.
func (l *Line[T]) Locked(do func(serving bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l.serving)
}

// Hand returns things to those first in line, to each as many as it wants while there
// are any, and returns the rest if some of them left.
func (l *Line[T]) Hand(things []T) (left []T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	served := 0
	for _, w := range l.waiting {
		if len(things) == 0 || l.Alone && served > 0 {
			break
		}
		n := min(len(things), w.max)
		w.got <- answer[T]{things: things[:n:n]}
		things = things[n:]
		served++
	}
	l.waiting = slices.Delete(l.waiting, 0, served)
	return things
}

// Fail answers all waiting callers.
func (l *Line[T]) Fail(err error) {
	l.failIf(err, func(*waiter[T]) bool { return true })
}

// Finish answers the callers that wait for the end: with ErrFinished, or with what kept
// the owner from knowing.
func (l *Line[T]) Finish(err error) {
	l.failIf(err, func(w *waiter[T]) bool { return w.ends })
}

func (l *Line[T]) failIf(err error, is func(*waiter[T]) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter[T]) bool {
		if !is(w) {
			return false
		}
		w.got <- answer[T]{err: err}
		return true
	})
}
