package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// settleMoving settles one URL that is known, and may have to come to a queue
// that it isn't in. What its queue holds of it is settled there; else it is let go
// there, given to the new queue by the seen side, and made there.
func (s *Store) settleMoving(ctx context.Context, crawl string, st *store.Settlement, out *store.SettleStatus) error {
	return s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		m := &moving{s: s, crawl: crawl, id: s.requests.id(), st: st}
		found, err := s.resolve(ctx, crawl, []store.Key{st.Key})
		if err != nil {
			return false, err
		}
		m.from = found[0]
		if m.from.was == queuedIn {
			answer, err := m.settle(ctx, s.layout.ofHash(m.from.queue), m.id.phase(phaseRecord), false)
			if err != nil || answer != 'M' {
				*out = map[byte]store.SettleStatus{'S': store.Settled, 'U': store.Unknown, 'T': store.Stale}[answer]
				return true, err
			}
		}
		*out = store.Settled
		switch {
		case m.from.was == unknown:
			*out = store.Created
		case st.Outcome != store.Requeue && !s.opt.KeepURLs:
			return true, nil // seen, and there is no text to keep
		}
		m.id = s.requests.id()
		return m.move(accepted(ctx))
	})
}

// moving is the settlement of a URL that comes to another queue.
type moving struct {
	s     *Store
	crawl string
	id    requestID
	st    *store.Settlement
	from  known
}

// move returns false when the URL changed meanwhile.
func (m *moving) move(ctx context.Context) (bool, error) {
	keys, from := []store.Key{m.st.Key}, []known{m.from}
	if m.from.was == queuedIn {
		heldKeys, _, err := m.s.release(ctx, m.id, m.crawl, 'f', keys, from)
		if err != nil || heldKeys[0] {
			return false, err
		}
	}
	shard, to := m.s.layout.ofQueue(m.st.Queue)
	entry := appendSettlement(nil, m.st, m.from, to, true)
	done, recorded, err := m.s.place(ctx, m.id, m.crawl, 'S', []placing{{m.st.Key, m.from, to, entry}})
	if err != nil || !done[0] {
		return false, err
	}
	if _, err := m.settle(ctx, shard, m.id.phase(phaseQueue), true); err != nil {
		return false, err
	}
	m.s.acknowledge(ctx, recorded)
	return true, nil
}

// settle sends the settlement to one queue.
func (m *moving) settle(ctx context.Context, shard int, id requestID, made bool) (byte, error) {
	_, named := m.s.layout.ofQueue(m.st.Queue)
	blob := appendSettlement(m.s.settleHead(requestID{}), m.st, m.from, named, made)
	c := &call{shard: shard, script: scriptSettle, id: id, crawl: m.crawl, blob: blob}
	if err := m.s.run(ctx, []*call{c}); err != nil {
		return 0, err
	}
	if err := c.answers(1); err != nil {
		return 0, err
	}
	return c.reply[0], nil
}
