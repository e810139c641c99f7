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

// A Space bounds the memory of some sets of hashes, for one run of a command: they take about 10 bytes a hash while the memory
// lasts. Beyond it further sums go to a temporary store, which is opened then, has a crawl for each set, and is asked about all
// hashes of a call at once. A set answers exactly, up to collisions: of 50 million different texts 2e-8 are expected to be taken
// for another one, of a billion 7e-6. One goroutine uses the sets of a Space.
type Space struct {
	// Dir is where the store is made. The default is the system's directory for temporary files.
	Dir string
	// Budget is in bytes. The default is no bound.
	Budget int64

	used  int64
	store *pebblestore.Store
	path  string
}

// Take takes memory for something else than sets, and reports whether there was as much.
func (s *Space) Take(n int64) bool {
	if s.Budget > 0 && s.used+n > s.Budget {
		return false
	}
	s.used += n
	return true
}

// Spilled reports whether the memory did not suffice.
func (s *Space) Spilled() bool { return s.store != nil }

// full reports whether the sets have taken their memory, and opens the store when they have.
func (s *Space) full() (bool, error) {
	if s.store != nil {
		return true, nil
	}
	if s.Budget == 0 || s.used < s.Budget {
		return false, nil
	}
	var err error
	if s.path, err = os.MkdirTemp(s.Dir, "firstseen-seen-"); err != nil {
		return false, fmt.Errorf("cannot keep hashes beyond the memory: %w", err)
	}
	s.store, err = pebblestore.Open(s.path, pebblestore.Options{
		IndexBytes: -1, // memory is what there is none of
		CacheBytes: 4 << 20, BufferBytes: 32 << 20,
	})
	if err == nil {
		err = s.store.Prepare(context.Background(), store.Terms{Identity: store.Identity{Profile: "none", Version: 1, KeyKind: "sum"}})
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("cannot keep hashes beyond the memory in %s: %w", s.path, err), s.Close())
	}
	return true, nil
}

// Close removes the store.
func (s *Space) Close() error {
	if s.path == "" {
		return nil
	}
	var err error
	if s.store != nil {
		err = s.store.Close()
	}
	return errors.Join(err, os.RemoveAll(s.path))
}

// A Set is a set of sums: those that came first in memory, the others in the store of its
// space.
type Set struct {
	set   table
	space *Space
	crawl string

	rest []store.Key // what the memory does not have, of one call
	at   []int
	got  []bool
}

// New returns an empty set with a name that no other set of the space has.
func (s *Space) New(name string) *Set { return &Set{space: s, crawl: name} }

// Add records sums and sets fresh[i] to whether sums[i] was new; of equal ones the first. It does
// so even if ctx ended, because the lines were read.
func (k *Set) Add(ctx context.Context, sums []Sum, fresh []bool) error {
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
	for from := 0; from < len(sums); from += ahead {
		some := sums[from:min(from+ahead, len(sums))]
		k.set.touch(some)
		for i, s := range some {
			fresh[from+i] = k.set.add(s)
		}
	}
	k.space.used += k.set.bytes() - before
	return nil
}

// Has sets known[i] to whether sums[i] was recorded.
func (k *Set) Has(ctx context.Context, sums []Sum, known []bool) error {
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
func (k *Set) beyond(sums []Sum, answers []bool, missing bool, ask func([]store.Key, []bool) error) error {
	k.rest, k.at = k.rest[:0], k.at[:0]
	for i, s := range sums {
		if k.set.has(s) {
			answers[i] = !missing
			continue
		}
		k.rest, k.at = append(k.rest, s.key()), append(k.at, i)
	}
	if len(k.rest) == 0 {
		return nil
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

func (s Sum) key() (k store.Key) {
	binary.BigEndian.PutUint64(k[:], s.Hi)
	binary.BigEndian.PutUint64(k[8:], s.Lo)
	return k
}
