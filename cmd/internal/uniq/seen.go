package uniq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// space bounds the memory of the sets of one run. Beyond it further sums go to a temporary
// store, which is opened then and has a crawl for each set.
type space struct {
	dir    string // for the store; "" is the system's
	budget int64  // bytes; 0 for no bound
	used   int64
	store  *pebblestore.Store
	path   string
}

// full reports whether the sets have taken their memory, and opens the store when they have.
func (s *space) full() (bool, error) {
	if s.store != nil {
		return true, nil
	}
	if s.budget == 0 || s.used < s.budget {
		return false, nil
	}
	var err error
	if s.path, err = os.MkdirTemp(s.dir, "firstseen-uniq-"); err != nil {
		return false, fmt.Errorf("cannot go on beyond the memory of --memory: %w", err)
	}
	s.store, err = pebblestore.Open(s.path, pebblestore.Options{
		IndexBytes: -1, // memory is what there is none of
		CacheBytes: 4 << 20, BufferBytes: 32 << 20,
	})
	if err != nil {
		return false, errors.Join(fmt.Errorf("cannot go on beyond the memory of --memory in %s: %w", s.path, err), s.close())
	}
	return true, nil
}

// close removes the store.
func (s *space) close() error {
	if s.path == "" {
		return nil
	}
	var err error
	if s.store != nil {
		err = s.store.Close()
	}
	return errors.Join(err, os.RemoveAll(s.path))
}

// keys is a set of sums: those that came first in memory, the others in the store of its
// space.
type keys struct {
	set   set
	space *space
	crawl string

	rest []store.Key // what the memory does not have, of one call
	at   []int
	got  []bool
}

// add records sums and sets fresh[i] to whether sums[i] was new; of equal ones the first. It does
// so even if ctx ended, because the lines were read.
func (k *keys) add(ctx context.Context, sums []sum, fresh []bool) error {
	full, err := k.space.full()
	if err != nil {
		return err
	}
	if full {
		return k.beyond(sums, fresh, true, func(list []store.Key, got []bool) error {
			return k.space.store.See(context.WithoutCancel(ctx), k.crawl, list, got, store.SeeOptions{})
		})
	}
	before := k.set.bytes()
	for i, s := range sums {
		fresh[i] = k.set.add(s)
	}
	k.space.used += k.set.bytes() - before
	return nil
}

// has sets known[i] to whether sums[i] was recorded.
func (k *keys) has(ctx context.Context, sums []sum, known []bool) error {
	if k.space.store == nil {
		for i, s := range sums {
			known[i] = k.set.has(s)
		}
		return nil
	}
	return k.beyond(sums, known, false, func(list []store.Key, got []bool) error {
		return k.space.store.Known(context.WithoutCancel(ctx), k.crawl, list, got)
	})
}

// beyond sets answers[i] by ask, and to !missing for what the memory has.
func (k *keys) beyond(sums []sum, answers []bool, missing bool, ask func([]store.Key, []bool) error) error {
	k.rest, k.at = k.rest[:0], k.at[:0]
	for i, s := range sums {
		if k.set.has(s) {
			answers[i] = !missing
			continue
		}
		k.rest, k.at = append(k.rest, s.key()), append(k.at, i)
	}
	if cap(k.got) < len(k.rest) {
		k.got = make([]bool, len(k.rest))
	}
	got := k.got[:len(k.rest)]
	if err := ask(k.rest, got); err != nil {
		return fmt.Errorf("cannot use the temporary store %s: %w", k.space.path, err)
	}
	for n, i := range k.at {
		answers[i] = got[n]
	}
	return nil
}

func (s sum) key() (k store.Key) {
	binary.BigEndian.PutUint64(k[:], s.hi)
	binary.BigEndian.PutUint64(k[8:], s.lo)
	return k
}
