package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// was is the state of a key at its home.
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

// resolve returns what the seen side knows of keys, after it has finished the steps that they have.
func (s *Store) resolve(ctx context.Context, crawl string, keys []store.Key) ([]known, error) {
	return s.resolveBy(ctx, scriptResolve, crawl, keys)
}

// judge is resolve for callers that report a key as known: under WAIT, so that replicas also have it.
func (s *Store) judge(ctx context.Context, crawl string, keys []store.Key) ([]known, error) {
	return s.resolveBy(ctx, scriptJudge, crawl, keys)
}

func (s *Store) resolveBy(ctx context.Context, sc *script, crawl string, keys []store.Key) ([]known, error) {
	out, left := make([]known, len(keys)), numbers(len(keys))
	err := s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		steps, err := s.resolveOnce(ctx, sc, crawl, keys, left, out, true)
		if err != nil {
			return false, err
		}
		left = left[:0]
		for i := range out {
			if out[i].was == onItsWay {
				left = append(left, i)
			}
		}
		return len(left) == 0, s.deliver(accepted(ctx), crawl, steps)
	})
	return out, err
}

// resolveOnce asks once about some of the keys. If care is set, it returns their steps.
func (s *Store) resolveOnce(ctx context.Context, sc *script, crawl string, keys []store.Key, of []int, out []known, care bool) (steps []*step, err error) {
	b := s.batch(sc, s.requests.id(), crawl, []byte{flag(care)})
	for _, i := range of {
		p := b.keyPart(i, &keys[i])
		p.blob = append(p.blob, keys[i][:]...)
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	err = b.read(func(i int, r *reader) error {
		out[i] = known{was(r.uint(1)), r.hash()}
		if out[i].was != onItsWay {
			return nil
		}
		st, err := readStep(keys[i], r.long())
		steps = append(steps, st)
		return err
	})
	return steps, err
}
