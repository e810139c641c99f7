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
			answer, err := m.settle(ctx, s.layout.ofHash(m.from.queue), m.id.phase(phaseSettle))
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
	st := m.s.settleStep(m.st, m.from)
	begun, _, _, _, err := m.s.begin(ctx, m.crawl, stepSettle, []*step{st})
	if err != nil || len(begun) == 0 {
		return false, err
	}
	return !st.left, m.s.deliver(ctx, m.crawl, begun)
}

// settleStep is the step of a URL that a settlement makes.
func (s *Store) settleStep(st *store.Settlement, from known) *step {
	_, to := s.layout.ofQueue(st.Queue)
	return &step{key: st.Key, old: from, mode: 'f', entry: appendSettlement(nil, st, from, to, true)}
}

// settle sends the settlement to one queue.
func (m *moving) settle(ctx context.Context, shard int, id requestID) (byte, error) {
	_, named := m.s.layout.ofQueue(m.st.Queue)
	blob := append(m.s.settleHead(), make([]byte, 16+2)...)
	blob = appendLong(blob, appendSettlement(nil, m.st, m.from, named, false))
	c := &call{shard: shard, script: scriptSettle, id: id, crawl: m.crawl, blob: blob}
	if err := m.s.run(ctx, []*call{c}); err != nil {
		return 0, err
	}
	if err := c.answers(1); err != nil {
		return 0, err
	}
	return c.reply[0], nil
}
