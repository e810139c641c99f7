package admit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Work bounds how much of a server's work each client has in progress, in units of about one
// URL. A client that works alone may have many units in progress. While other clients work
// too, each may have few: then no call waits behind much that another client asked for. Safe
// for concurrent use.
type Work struct {
	bounds WorkBounds

	mu      sync.Mutex
	clients map[Client]*worker // that worked recently
	looked  time.Time          // when the others were last removed
}

// WorkBounds are the units of work that may be in progress.
type WorkBounds struct {
	Alone  int // of a client while no other works
	Shared int // of each client otherwise
	Total  int // of all clients, if they are so many that Shared would allow more
	// Rest is how long a client rests for each unit that it ended, if it has more to do and
	// other clients work, too: the processor is theirs for so long.
	Rest time.Duration
}

// worker is a client of a Work.
type worker struct {
	doing   int       // units in progress
	last    time.Time // when it last began some
	waiting list.List // of *turn, in order of arrival
}

// turn is a call of Begin that waits.
type turn struct {
	n   int
	got chan int // has room for the one answer
}

// workRecent is how long a client counts after it began its last unit.
const workRecent = time.Second

// NewWork returns a Work with bounds.
func NewWork(b WorkBounds) *Work { return &Work{bounds: b, clients: make(map[Client]*worker)} }

// Begin blocks until a client may begin some of n units of work, and returns how many, at
// least 1. The caller must call End with that number. The error is that of ctx.
func (k *Work) Begin(ctx context.Context, c Client, n int) (int, error) {
	k.mu.Lock()
	w := k.worker(c, time.Now())
	if w.waiting.Len() == 0 {
		if got := k.grant(w, n); got > 0 {
			k.mu.Unlock()
			return got, nil
		}
	}
	t := &turn{n, make(chan int, 1)}
	place := w.waiting.PushBack(t)
	k.mu.Unlock()
	select {
	case got := <-t.got:
		return got, nil
	case <-ctx.Done():
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case got := <-t.got:
		return got, nil
	default:
		w.waiting.Remove(place)
		k.serve(w) // it may have been the first
		return 0, ctx.Err()
	}
}

// End ends n units of a client's work.
func (k *Work) End(c Client, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.clients[c]
	if len(k.clients) == 1 || w.waiting.Len() == 0 {
		k.end(w, n)
		return
	}
	time.AfterFunc(time.Duration(n)*k.bounds.Rest, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.end(w, n)
	})
}

// InProgress returns how many units all clients have in progress.
func (k *Work) InProgress() (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.clients {
		n += w.doing
	}
	return n
}

// The methods below are called with the work locked.

// end ends n units of a worker's work, and begins what waits for them.
func (k *Work) end(w *worker, n int) {
	w.doing -= n
	k.serve(w)
}

// serve begins work that waits.
func (k *Work) serve(w *worker) {
	for e := w.waiting.Front(); e != nil; e = w.waiting.Front() {
		t := e.Value.(*turn)
		got := k.grant(w, t.n)
		if got == 0 {
			return
		}
		w.waiting.Remove(e)
		t.got <- got
	}
}

// worker returns the worker of a client that begins some work now.
func (k *Work) worker(c Client, now time.Time) *worker {
	w := k.clients[c]
	if w == nil {
		w = &worker{}
		k.clients[c] = w
	}
	w.last = now
	if now.Sub(k.looked) >= workRecent/4 {
		k.looked = now
		for c, w := range k.clients {
			if w.doing == 0 && w.waiting.Len() == 0 && now.Sub(w.last) > workRecent {
				delete(k.clients, c)
			}
		}
	}
	return w
}

// grant begins some of n units of a worker's work and returns how many. It returns 0 if these
// would be much fewer than n while others are in progress: small pieces cost more.
func (k *Work) grant(w *worker, n int) int {
	limit := k.bounds.Alone
	if others := len(k.clients); others > 1 {
		limit = max(1, min(k.bounds.Shared, k.bounds.Total/others))
	}
	got := min(n, limit-w.doing)
	if w.doing > 0 && got < min(n, (limit+1)/2) {
		return 0
	}
	got = max(got, 1)
	w.doing += got
	return got
}
