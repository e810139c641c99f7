package redisstore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Lookup implements store.Store.
func (s *Store) Lookup(ctx context.Context, crawl string, key store.Key) (store.Entry, error) {
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return store.Entry{}, err
	}
	defer s.leave()
	found, err := s.resolve(ctx, scriptResolve, crawl, []store.Key{key}, []int{0})
	if err != nil {
		return store.Entry{}, err
	}
	if found[0].was == unknown {
		return store.Entry{}, fmt.Errorf("cannot look up key %x: %w", key[:], store.ErrNotFound)
	}
	list, err := s.entriesOf(ctx, crawl, []store.Key{key}, found)
	if err != nil {
		return store.Entry{}, err
	}
	return list[0], nil
}

func (s *Store) entriesOf(ctx context.Context, crawl string, keys []store.Key, of []known) ([]store.Entry, error) {
	out := make([]store.Entry, len(keys))
	b := s.batch(scriptLookup, requestID{}, crawl, nil)
	for i := range keys {
		out[i].Key, out[i].Crawl = keys[i], crawl
		if of[i].was == queuedIn {
			p := b.part(s.layout.ofHash(of[i].queue), i)
			p.blob = append(p.blob, keys[i][:]...)
		}
	}
	return out, b.read(ctx, func(i int, r *reader) { readFound(r, &out[i]) })
}

// readFound reads what lua/found.lua says into an entry with its key and crawl,
// and returns the token of the lease, if it has one.
func readFound(r *reader, e *store.Entry) (token uint64) {
	if r.uint(1) == 0 {
		return 0
	}
	state := store.State(r.uint(1))
	token, until, attempts := r.uint(6), int64(r.uint(6)), int(r.uint(4))
	readRecord(&reader{r.long()}, e)
	e.State = state
	switch state {
	case store.Leased:
		e.Expires, e.Attempts = sched.Time(until), attempts
	case store.Done, store.Dropped:
		e.Due = sched.Time(0)
	}
	return token
}

func readRecord(r *reader, e *store.Entry) {
	e.Priority = uint8(r.uint(1))
	e.Due, e.Created = sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6)))
	r.uint(6) // arrival
	e.Attempts = int(r.uint(4))
	r.uint(1) // done
	e.Queue = r.short()
	if meta := r.long(); meta != "" {
		e.Meta = []byte(meta)
	}
	e.URL = r.left
}

// was is the state of a key at its home.
type was byte

const (
	unknown     was = iota
	neverQueued     // seen
	queuedIn        // seen, and queued, leased, completed or dropped in a queue
	onItsWay        // its step has to be finished first
)

type known struct {
	was
	queue queueHash
}

// resolve returns what the seen side knows of some of the keys, after it has finished the steps that they have. The script is
// scriptJudge for callers that report a key as known, under WAIT, and scriptResolve for others.
func (s *Store) resolve(ctx context.Context, sc *script, crawl string, keys []store.Key, left []int) ([]known, error) {
	out := make([]known, len(keys))
	return out, s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		b := s.batch(sc, s.requests.id(), crawl, nil)
		for _, i := range left {
			p := b.keyPart(i, &keys[i])
			p.blob = append(p.blob, keys[i][:]...)
		}
		left = nil
		var steps []*step
		err := b.read(ctx, func(i int, r *reader) {
			if out[i] = (known{was(r.uint(1)), r.hash()}); out[i].was == onItsWay {
				left, steps = append(left, i), append(steps, readStep(keys[i], r))
			}
		})
		if err != nil {
			return false, err
		}
		return len(left) == 0, s.deliver(accepted(ctx), crawl, steps)
	})
}
