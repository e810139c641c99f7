package redisstore

import (
	"context"
	"errors"
	"fmt"

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
	full   map[partKey]int   // how many there are
}

// maxPart is how many keys or URLs one script call may be about: it stops its server for about 20 µs for each.
const maxPart = 256

// partKey names a part: parts of a shard differ by what their blobs begin with.
type partKey struct {
	shard int
	head  string
}

// part is what one shard gets.
type part struct {
	*call
	of []int // the caller's numbers of the things in the blob, in order
}

func (s *Store) batch(sc *script, id requestID, crawl string, head []byte) *batch {
	return &batch{s: s, script: sc, id: id, crawl: crawl, head: head, at: map[partKey]*part{}, full: map[partKey]int{}}
}

// part returns the part of a shard, with i noted as the next thing in it.
func (b *batch) part(shard, i int) *part { return b.partWith(shard, nil, i) }

// partWith returns the part of a shard whose blob begins with more than that of others.
func (b *batch) partWith(shard int, more []byte, i int) *part {
	p := b.open(shard, more)
	p.of = append(p.of, i)
	return p
}

// open returns the part of a shard that has room for one thing more.
func (b *batch) open(shard int, more []byte) *part {
	key := partKey{shard, string(more)}
	p := b.at[key]
	if p == nil || len(p.of) == maxPart {
		id := b.id
		if id != (requestID{}) {
			id[15] += byte(phases * b.full[key]) // a shard gets one call by an id
		}
		b.full[key]++
		c := &call{shard: shard, script: b.script, id: id, crawl: b.crawl, blob: append(append([]byte(nil), b.head...), more...)}
		if !b.script.writes {
			c.id = requestID{}
		}
		p = &part{call: c}
		b.at[key] = p
		b.parts = append(b.parts, p)
		b.calls = append(b.calls, c)
	}
	return p
}

// everywhere adds a part for every shard.
func (b *batch) everywhere() *batch {
	for i := range b.s.opt.Shards {
		b.part(i, i)
	}
	return b
}

// run sends the batch.
func (b *batch) run(ctx context.Context) error { return b.s.run(ctx, b.calls) }

// read calls f with the number of each thing that was answered, in order, and the reader of its answer.
func (b *batch) read(f func(i int, r *reader) error) error {
	for _, p := range b.parts {
		r := reader{p.reply}
		for _, i := range p.of {
			if !p.done {
				break
			}
			if err := errors.Join(f(i, &r), r.err()); err != nil {
				return fmt.Errorf("cannot read what %s gave: %w", b.script.name, err)
			}
		}
	}
	return nil
}

// tell calls f with each answer byte and the number of its item.
func (b *batch) tell(f func(i int, answer byte)) error {
	return b.read(func(i int, r *reader) error { f(i, byte(r.uint(1))); return nil })
}

// shardsHead is the number of shards as scripts of the seen side take it.
func (s *Store) shardsHead() []byte { return appendUint(nil, 2, uint64(s.opt.Shards)) }

// keyPart returns the part of a key's home, with the key's place in its blob.
func (b *batch) keyPart(i int, key *store.Key) *part { return b.keyPartWith(nil, i, key) }

func (b *batch) keyPartWith(more []byte, i int, key *store.Key) *part {
	shard, place := b.s.layout.ofKey(key)
	p := b.partWith(shard, more, i)
	p.blob = appendUint(p.blob, 4, uint64(place))
	return p
}
