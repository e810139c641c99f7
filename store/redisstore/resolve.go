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
	onItsWay        // another daemon is about to decide
)

// known is what the seen side knows of a key.
type known struct {
	was
	queue queueHash
}

// resolve asks the seen side about keys, and waits for those that are on their
// way.
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
		left, err = s.resolveOnce(ctx, sc, crawl, keys, left, out, true)
		return len(left) == 0, err
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
	for _, p := range b.at {
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

// placing is a key that is to be given to a queue.
type placing struct {
	key   store.Key
	known known // as it was found
	to    queueHash
	entry []byte // for the outbox, with its length before it
}

// place gives keys to queues, unless they are not as they were found any more; the
// entries are in the outbox then, of the given kind. It reports which it did,
// and returns what has to be acknowledged.
func (s *Store) place(ctx context.Context, id requestID, crawl string, kind byte, list []placing) ([]bool, *batch, error) {
	b := s.batch(scriptPlace, id.phase(phaseRecord), crawl, append(s.shardsHead(), kind))
	for i := range list {
		p := b.keyPart(i, &list[i].key)
		p.blob = append(p.blob, list[i].key[:]...)
		p.blob = append(p.blob, byte(list[i].known.was))
		p.blob = append(p.blob, list[i].known.queue[:]...)
		p.blob = append(p.blob, list[i].to[:]...)
		p.blob = append(p.blob, list[i].entry...)
	}
	if err := b.run(ctx); err != nil {
		return nil, nil, err
	}
	done := make([]bool, len(list))
	err := b.tell(func(i int, answer byte) { done[i] = answer == 'Y' })
	return done, b, err
}

// acknowledge takes a step out of the outboxes of the shards that recorded it: its
// queues have it. If that fails the recoverer does it, so errors mean nothing.
func (s *Store) acknowledge(ctx context.Context, recorded *batch) {
	var calls []*call
	for _, c := range recorded.calls {
		calls = append(calls, &call{shard: c.shard, script: scriptAck, blob: c.id[:]})
	}
	_ = s.run(ctx, calls)
}

// release lets go of keys of known queues, and reports which are held and were left,
// and since when the text of the others was kept.
func (s *Store) release(ctx context.Context, id requestID, crawl string, mode byte, keys []store.Key, of []known) (heldKeys []bool, created []uint64, err error) {
	b := s.batch(scriptRelease, id.phase(phaseRelease), crawl, []byte{mode})
	for i := range keys {
		if of[i].was == queuedIn {
			p := b.part(s.layout.ofHash(of[i].queue), i)
			p.blob = append(append(p.blob, keys[i][:]...), of[i].queue[:]...)
		}
	}
	if err := b.run(ctx); err != nil {
		return nil, nil, err
	}
	heldKeys, created = make([]bool, len(keys)), make([]uint64, len(keys))
	for _, p := range b.at {
		r := reader{p.reply}
		for _, i := range p.of {
			heldKeys[i], created[i] = r.bytes(1) == "H", r.uint(6)
		}
		if err := r.err(); err != nil {
			return nil, nil, err
		}
	}
	return heldKeys, created, nil
}
