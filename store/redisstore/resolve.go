package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// was says what the seen side knows of a key.
type was byte

const (
	unknown     was = iota
	neverQueued     // seen
	queuedIn        // seen, and queued, leased, completed or dropped in a queue
	onItsWay        // its step has to be finished first
)

// known is what the seen side knows of a key.
type known struct {
	was
	queue queueHash
}

// resolve asks the seen side about keys, and finishes the steps that they have.
func (s *Store) resolve(ctx context.Context, crawl string, keys []store.Key) ([]known, error) {
	return s.resolveBy(ctx, scriptResolve, crawl, keys)
}

// judge is resolve for those who tell their callers that a key is known: under WAIT, so that
// replicas have it, too.
func (s *Store) judge(ctx context.Context, crawl string, keys []store.Key) ([]known, error) {
	return s.resolveBy(ctx, scriptJudge, crawl, keys)
}

func (s *Store) resolveBy(ctx context.Context, sc *script, crawl string, keys []store.Key) ([]known, error) {
	out, left := make([]known, len(keys)), numbers(len(keys))
	err := s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		var err error
		if left, err = s.resolveOnce(ctx, sc, crawl, keys, left, out, true); err != nil {
			return false, err
		}
		busy := make([]store.Key, len(left))
		for j, i := range left {
			busy[j] = keys[i]
		}
		return len(left) == 0, s.finish(ctx, crawl, busy)
	})
	return out, err
}

// resolveOnce asks once about some of the keys, and returns those on their way, if
// that matters.
func (s *Store) resolveOnce(ctx context.Context, sc *script, crawl string, keys []store.Key, of []int, out []known, care bool) (left []int, err error) {
	b := s.batch(sc, s.requests.id(), crawl, []byte{flag(care)})
	for _, i := range of {
		p := b.keyPart(i, &keys[i])
		p.blob = append(p.blob, keys[i][:]...)
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	for _, p := range b.parts {
		r := reader{p.reply}
		for _, i := range p.of {
			out[i] = known{was(r.uint(1)), r.hash()}
			if out[i].was == onItsWay {
				left = append(left, i)
			}
		}
		if err := r.err(); err != nil {
			return nil, err
		}
	}
	return left, nil
}
