package pebblestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
	"github.com/firstseen/firstseen/store/keyfile"
)

// Export writes the keys of a crawl to w as a key file, and returns their number.
// Keys recorded or forgotten while it runs may be in the file or not.
func (s *Store) Export(ctx context.Context, w io.Writer, crawl string) (int64, error) {
	if err := s.rlock(); err != nil {
		return 0, err
	}
	h := keyfile.Header{Identity: s.identity, UnicodeHosts: s.unicodeHosts}
	s.mu.RUnlock()
	kw := keyfile.NewWriter(w, h)
	if err := s.ranges(ctx, crawl, kw.Append); err != nil {
		return kw.Len(), err
	}
	return kw.Len(), kw.Close()
}

// rangeKeys is about how many keys are read at a time.
const rangeKeys = 1 << 15

// keyRange is what is read at a time, or why it couldn't be.
type keyRange struct {
	keys []store.Key
	err  error
}

// ranges calls f with all keys of a crawl in order, some thousand at a time, read by
// all processors. No iterator is open while f runs.
func (s *Store) ranges(ctx context.Context, crawl string, f func([]store.Key) error) error {
	if _, err := sched.CrawlName(crawl); err != nil {
		return err
	}
	st, err := s.Stats(ctx, crawl)
	if err != nil {
		return err
	}
	parts := int(min(st.Seen/rangeKeys+1, 1<<16))
	readers := make([]chan keyRange, min(parts, runtime.GOMAXPROCS(0)))
	free, stop := make(chan []store.Key, 4*len(readers)), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for first := range readers {
		out := make(chan keyRange, 2)
		readers[first] = out
		wg.Go(func() {
			for i := first; i < parts; i += len(readers) {
				var r keyRange
				select {
				case r.keys = <-free:
				default:
				}
				r.keys, r.err = s.readRange(ctx, crawl, i, parts, r.keys[:0])
				select {
				case out <- r:
				case <-stop:
					return
				}
			}
		})
	}
	for i := range parts {
		r := <-readers[i%len(readers)]
		if r.err != nil {
			return r.err
		}
		if err := f(r.keys); err != nil {
			return err
		}
		select {
		case free <- r.keys:
		default:
		}
	}
	return nil
}

// readRange appends the keys of the i-th of so many equal parts of all keys.
func (s *Store) readRange(ctx context.Context, crawl string, i, parts int, keys []store.Key) ([]store.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var lo, hi store.Key
	step := ^uint64(0)/uint64(parts) + 1 // of one part it is 0, and not used
	binary.BigEndian.PutUint64(lo[:], uint64(i)*step)
	end := &hi
	if binary.BigEndian.PutUint64(hi[:], uint64(i+1)*step); i == parts-1 {
		end = nil
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	m, err := s.openMerge(crawl, &lo, end)
	if err != nil {
		return nil, err
	}
	for len(m.its) > 0 {
		keys = append(keys, store.Key(m.its[0].Key()[5:]))
		m.next()
	}
	return keys, m.close()
}

// Import records the keys of a key file, and returns how many it read and how
// many were new. A file of another identity is refused with
// store.ErrIdentity; one of another Unicode version only if it has keys of
// internationalised hosts.
//
// The keys before an error are recorded; doing it again is safe.
func (s *Store) Import(ctx context.Context, r io.Reader, crawl string) (read, fresh int64, err error) {
	kr, err := keyfile.NewReader(r)
	if err != nil {
		return 0, 0, err
	}
	h, have := kr.Header(), s.Identity()
	want := h.Identity
	if !h.UnicodeHosts {
		want.Unicode = have.Unicode
	}
	if want = want.Or(have); want != have.Or(want) {
		return 0, 0, fmt.Errorf("cannot import; got keys of %+v; want %+v: %w", h.Identity, have, store.ErrIdentity)
	}
	return s.ImportSorted(ctx, crawl, kr.Keys(), store.SeeOptions{UnicodeHosts: h.UnicodeHosts})
}
