package pebblestore

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// loadQueues brings the queues that hold something and the leases into memory.
// It reads a row for each queue and each lease, and no queued URL.
func (s *Store) loadQueues() error {
	s.sched.journal.table, s.sched.seed = tableJournal, maphash.MakeSeed()
	if err := s.loadScheduler(); err != nil {
		return err
	}
	leases, err := s.loadLeases()
	if err != nil {
		return err
	}
	states, err := s.loadJournal()
	if err != nil {
		return err
	}
	now := sched.Now(s.opt.Clock())
	if err := s.loadRetired(leases, now); err != nil {
		return err
	}
	err = s.scan([]byte{tableQueue}, rowBound(tableQueue), func(key, value []byte) error {
		st, ok := newer(states, key, value)
		if ok {
			value = st.value
		}
		q, err := s.loadQueue(key, value, leases, now)
		if ok && q != nil {
			s.sched.journal.has(q, st.row)
		}
		return err
	})
	if err == nil && len(leases) > 0 {
		err = fmt.Errorf("cannot load leases; got %d queues with leases and no row: %w", len(leases), store.ErrCorrupt)
	}
	return err
}

// loadScheduler reads the rows of the store and the crawls.
func (s *Store) loadScheduler() error {
	if err := readRow(s.db, []byte{tableCrawlQueues}, s.sched.parse); err != nil {
		return err
	}
	return s.scan(appendNumbered(nil, tableCrawlQueues, 0), rowBound(tableCrawlQueues), func(key, value []byte) error {
		c := s.numbered(key, 5)
		if c == nil {
			return fmt.Errorf("cannot load queues of crawl %x; got no such crawl: %w", key, store.ErrCorrupt)
		}
		return c.queues.parse(value)
	})
}

// numbered returns the crawl that the key of a row names, nil if it is too
// short or names none.
func (s *Store) numbered(key []byte, least int) *crawl {
	if len(key) < least {
		return nil
	}
	return s.byNum[binary.BigEndian.Uint32(key[1:])]
}

// queueNum names a queue of any crawl.
type queueNum struct{ crawl, queue uint32 }

func (s *Store) loadLeases() (map[queueNum][]leaseRow, error) {
	leases := map[queueNum][]leaseRow{}
	err := s.scan([]byte{tableLease}, rowBound(tableLease), func(key, value []byte) error {
		l, err := parseLease(key, value)
		l.rec.Shorten(s.opt.leaseBytes)
		at := queueNum{l.crawl, l.queue}
		leases[at] = append(leases[at], l)
		return err
	})
	return leases, err
}

// loadQueue loads a queue that holds something, and takes its leases from the
// map. It returns nil for one that doesn't.
func (s *Store) loadQueue(key, value []byte, leases map[queueNum][]leaseRow, now int64) (*queue, error) {
	c := s.numbered(key, 5)
	if c == nil {
		return nil, fmt.Errorf("cannot load queue %q; got no such crawl: %w", key, store.ErrCorrupt)
	}
	r := newRowReader(value)
	id, _, queued := r.Uvarint(), r.Uvarint(), r.Uvarint()
	if r.Bad {
		return nil, fmt.Errorf("cannot load queue %q; got %x: %w", key, value, store.ErrCorrupt)
	}
	s.sched.name(&c.queues, string(key[5:]))
	at := queueNum{c.num, uint32(id)}
	if queued == 0 && leases[at] == nil {
		return nil, nil
	}
	q, err := parseQueue(c, string(key[5:]), value)
	if err != nil {
		return nil, err
	}
	for _, l := range leases[at] {
		q.Restore(l.rec, l.token, l.given, l.until, now)
	}
	delete(leases, at)
	s.sched.hold(q)
	q.File(now)
	return q, nil
}
