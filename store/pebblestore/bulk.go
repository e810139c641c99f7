package pebblestore

import (
	"context"
	"fmt"
	"io"

	"github.com/firstseen/firstseen/store"
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
