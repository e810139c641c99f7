package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/firstseen/firstseen/internal/fault"
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
	h := keyfile.Header{Identity: s.Identity(), UnicodeHosts: s.unicodeHosts}
	s.mu.RUnlock()
	return keyfile.Write(w, h, s.Keys(ctx, crawl))
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
	h := kr.Header()
	if err := accepts(s.Identity(), h); err != nil {
		return 0, 0, fmt.Errorf("cannot import: %w", err)
	}
	return s.ImportSorted(ctx, crawl, kr.Keys(), store.SeeOptions{UnicodeHosts: h.UnicodeHosts})
}

// importKeys is how many keys an import records in one step: the committer takes about 5 ms for them.
const importKeys = 1 << 14

// ImportSorted records keys that ascend strictly, and returns how many it read and how many were new.
// Every 16,384 keys are one durable step, and other steps run between them. Options.AlsoSeen does not
// count.
//
// Out of order keys return store.ErrInvalid. The keys before an error are
// recorded.
func (s *Store) ImportSorted(ctx context.Context, crawl string, keys iter.Seq2[store.Key, error], opt store.SeeOptions) (read, fresh int64, err error) {
	crawl, err = sched.CrawlName(crawl)
	if err != nil {
		return 0, 0, err
	}
	part, isNew := make([]store.Key, 0, importKeys), make([]bool, importKeys)
	record := func() error {
		err := s.see(ctx, crawl, part, isNew[:len(part)], opt)
		if err != nil {
			return err
		}
		read += int64(len(part))
		for i := range part {
			if isNew[i] {
				fresh++
			}
		}
		part = part[:0]
		return nil
	}
	var last store.Key
	for k, err := range keys {
		if err == nil && read+int64(len(part)) > 0 && last.Compare(k) >= 0 {
			err = fault.As(store.ErrInvalid, "cannot import; got key %x after %x; want ascending ones", k, last)
		}
		if err != nil {
			return read, fresh, errors.Join(err, record())
		}
		if part, last = append(part, k), k; len(part) == importKeys {
			if err := record(); err != nil {
				return read, fresh, err
			}
		}
	}
	return read, fresh, record()
}
