package redisstore

import (
	"context"

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

// maxPart is how many keys or URLs one script call may be about: it stops its server for some 20 µs for each.
const maxPart = 256

// partKey names a part: parts of a shard differ by what their blobs begin with.
type partKey struct {
	shard int
	head  string
}

// part is what one shard gets.
type part struct {
	*call
	of []int // the caller's numbers of what is in the blob, in order
}

func (s *Store) batch(sc *script, id requestID, crawl string, head []byte) *batch {
	return &batch{s: s, script: sc, id: id, crawl: crawl, head: head, at: map[partKey]*part{}, full: map[partKey]int{}}
}

// part returns the part of a shard, with i noted as the next thing in it.
func (b *batch) part(shard, i int) *part { return b.partWith(shard, nil, i) }

// partWith returns the part of a shard whose blob begins with more than that of others.
func (b *batch) partWith(shard int, more []byte, i int) *part {
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
	p.of = append(p.of, i)
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

// tell calls f with each answer byte and the number of what it answers, of the calls that were answered.
func (b *batch) tell(f func(i int, answer byte)) error {
	for _, p := range b.parts {
		if !p.done {
			continue
		}
		if err := p.answers(len(p.of)); err != nil {
			return err
		}
		for j, i := range p.of {
			f(i, p.reply[j])
		}
	}
	return nil
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
