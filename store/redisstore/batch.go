package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
)

// batch gathers what one phase of an operation sends, by shard.
type batch struct {
	s      *Store
	script *script
	id     requestID
	crawl  string
	head   []byte // what each blob begins with
	calls  []*call
	parts  []*part
	at     map[partKey]*part // the last of each
	room   int               // for the blob of a part
}

// maxPart is how many keys or URLs one script call may be about: it stops its server for about 20 µs for each.
const maxPart = 256

// partKey names a part: parts of a shard differ by what their blobs begin with.
type partKey struct {
	shard int
	head  string
}

type part struct {
	*call
	nth   int   // of those with its partKey
	of    []int // the caller's numbers of the things in the blob, in order
	group group // of an offer
}

func (s *Store) batch(sc *script, id requestID, crawl string, head []byte) *batch {
	return &batch{s: s, script: sc, id: id, crawl: crawl, head: head, at: map[partKey]*part{}}
}

// expect makes room for n things of so many bytes in all parts.
func (b *batch) expect(n, bytes int) *batch {
	b.room = bytes * min(maxPart, 2*n/b.s.opt.Shards+1)
	return b
}

// part returns the part of a shard, with i noted as the next thing in it. Its blob may begin with more than that of others.
func (b *batch) part(shard, i int, more ...byte) *part {
	p := b.open(shard, more)
	p.of = append(p.of, i)
	return p
}

// open returns the part of a shard that has room for one thing more.
func (b *batch) open(shard int, more []byte) *part {
	p := b.at[partKey{shard, string(more)}] // a literal: no copy is made to look it up
	if p != nil && len(p.of) < maxPart {
		return p
	}
	nth := 0
	if p != nil {
		nth = p.nth + 1
	}
	p = &part{nth: nth, call: &call{shard: shard, script: b.script, crawl: b.crawl, blob: append(append(make([]byte, 0, b.room), b.head...), more...)}}
	if b.script.writes && b.id != (requestID{}) {
		p.id = b.id
		p.id[15] += byte(phases * nth) // a shard gets one call by an id
	}
	b.at[partKey{shard, string(more)}] = p
	b.parts = append(b.parts, p)
	b.calls = append(b.calls, p.call)
	return p
}

func (b *batch) everywhere() *batch {
	for i := range b.s.opt.Shards {
		b.part(i, i)
	}
	return b
}

func (b *batch) run(ctx context.Context) error { return b.s.run(ctx, b.calls) }

// read runs the batch, and calls f with the number of each thing that was answered, in order, and the reader of its answer.
// If some calls fail, it reads the answers of the others.
func (b *batch) read(ctx context.Context, f func(i int, r *reader)) error {
	err := b.run(ctx)
	for _, p := range b.parts {
		r := reader{p.reply}
		for _, i := range p.of {
			if !p.done || r.left == overrun {
				break
			}
			f(i, &r)
		}
		err = errors.Join(err, r.err())
	}
	return err
}

// shardsHead is the number of shards as scripts of the seen side take it.
func (s *Store) shardsHead() []byte { return appendUint(nil, 2, uint64(s.opt.Shards)) }

// keyPart returns the part of a key's home, with the key's place in its blob.
func (b *batch) keyPart(i int, key *store.Key, more ...byte) *part {
	shard, place := b.s.layout.ofKey(key)
	p := b.part(shard, i, more...)
	p.blob = appendUint(p.blob, 4, uint64(place))
	return p
}

// requestID names a step of this daemon, and with its last byte a phase of it. A
// shard gets one call of a phase at most.
type requestID [16]byte

// Phases of a step.
const (
	phaseRecord = iota // at the keys' home
	phaseQueue         // at the queue's home, of steps; it has receipts, see lua/receipts.lua
	phaseSettle        // at the queue's home, of what needs no step
	phases             // how many
)

type requests struct {
	self [8]byte // random
	next atomic.Uint64
}

func (r *requests) id() (id requestID) {
	copy(id[:], r.self[:])
	binary.BigEndian.PutUint64(id[8:], r.next.Add(1)<<8)
	return id
}

// phase returns the id of another phase of the same part of a step.
func (id requestID) phase(n byte) requestID {
	id[15] += n - id[15]%phases
	return id
}

func (id requestID) text() string {
	if id == (requestID{}) {
		return ""
	}
	return string(id[:])
}
