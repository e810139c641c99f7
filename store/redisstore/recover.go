package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// recover finishes the steps that daemons recorded in an outbox some time ago and
// didn't end, and sweeps what is left of crawls that were forgotten. A shard out of reach
// holds up its own steps alone.
func (s *Store) recover(ctx context.Context, age time.Duration) error {
	b := s.batch(scriptOutbox, requestID{}, "", appendUint(nil, 6, uint64(age.Milliseconds()))).everywhere()
	failed := b.run(ctx)
	var swept []int
	down := unreachable{}
	for _, c := range b.calls {
		if !c.done {
			down[c.shard] = true
			continue
		}
		if c.reply != "" && c.reply[0] == 1 {
			swept = append(swept, c.shard)
		}
		failed = errors.Join(failed, s.recoverShard(ctx, c, down))
	}
	return errors.Join(failed, s.sweep(ctx, swept))
}

// recoverShard finishes what one shard answered.
func (s *Store) recoverShard(ctx context.Context, c *call, down unreachable) (failed error) {
	r := reader{c.reply}
	r.uint(1)
	for r.more() {
		left, err := s.readLeftover(c.shard, r.long())
		if err == nil {
			left.down = down
			err = left.finish(ctx)
		}
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, r.err())
}

// unreachable are shards that gave no answer: what needs one of them waits for another time.
type unreachable map[int]bool

func (u unreachable) has(calls []*call) bool {
	return slices.ContainsFunc(calls, func(c *call) bool { return u[c.shard] })
}

func (u unreachable) note(calls []*call) {
	for _, c := range calls {
		if !c.done && c.verdict != fatal {
			u[c.shard] = true
		}
	}
}

// leftover is a step of another daemon, as far as it concerns the keys of one
// shard.
type leftover struct {
	s       *Store
	shard   int // of the keys
	id      requestID
	kind    string // A and P: URLs to queue, P: of pending keys; S: settlements
	crawl   string
	entries []string
	down    unreachable
}

// readLeftover reads a step as outbox.lua gives it.
func (s *Store) readLeftover(shard int, text string) (*leftover, error) {
	r, l := reader{text}, &leftover{s: s, shard: shard, down: unreachable{}}
	copy(l.id[:], r.bytes(len(l.id)))
	r.uint(6) // time
	l.kind, l.crawl = r.bytes(1), r.short()
	for r.more() {
		l.entries = append(l.entries, r.long())
	}
	return l, r.err()
}

// Where an entry and a settlement have the hash of their queue.
const (
	entryHashAt      = 16
	settlementHashAt = 16 + 6 + 2 + 1 + 6 + 1 + 1 + 6
)

// finish carries out what is left of a step. Each queue's shard refuses the daemon that
// began it from then on; where it had been already, nothing is done, if that isn't longer ago
// than answers are kept.
func (l *leftover) finish(ctx context.Context) error {
	fence := l.id.phase(phaseQueue)
	sc, at, head := scriptEnqueue, entryHashAt, append(make([]byte, 6), fence[:]...)
	if l.kind == "S" {
		sc, at, head = scriptSettle, settlementHashAt, l.s.settleHead(fence)
	}
	b := l.s.batch(sc, l.recoveryID(phaseQueue), l.crawl, head)
	for i, e := range l.entries {
		r := reader{e}
		r.bytes(at)
		p := b.part(l.s.layout.ofHash(r.hash()), i)
		p.blob = appendLong(p.blob, e)
	}
	if l.down.has(b.calls) {
		return nil
	}
	if err := b.run(ctx); err != nil {
		l.down.note(b.calls)
		return err
	}
	if l.kind == "P" {
		return l.confirm(ctx, b)
	}
	return l.s.run(ctx, []*call{{shard: l.shard, script: scriptAck, blob: l.id[:]}})
}

// recoveryID is the same for all who finish this part of the step.
func (l *leftover) recoveryID(phase byte) requestID {
	id := l.id.phase(phase)
	binary.BigEndian.PutUint16(id[8:], 0x8000|uint16(l.shard))
	return id
}

// confirm ends what is pending: a key stays if its queue took the URL. If its queue
// was reached by the daemon that began, and has nothing of the URL, it was full, or the
// URL is completed already; it is forgotten then, and so may be fetched twice, but
// isn't lost.
func (l *leftover) confirm(ctx context.Context, queued *batch) error {
	keys, of := make([]store.Key, len(l.entries)), make([]known, len(l.entries))
	for i, e := range l.entries {
		r := reader{e}
		keys[i], of[i] = r.key(), known{queuedIn, r.hash()}
	}
	entries, err := l.s.entriesOf(ctx, l.crawl, keys, of)
	if err != nil {
		return err
	}
	b := l.s.confirming(l.id, l.crawl)
	b.id = l.recoveryID(phaseEnd)
	for i := range keys {
		p := b.keyPart(i, &keys[i])
		p.blob = append(append(p.blob, keys[i][:]...), flag(entries[i].State != store.SeenOnly))
	}
	return b.run(ctx)
}
