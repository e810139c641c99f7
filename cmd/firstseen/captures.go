package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/store/captures"
)

// capturesDir is where, in the directory of a store, serve keeps what fetches gave.
func capturesDir(db string) string { return filepath.Join(db, "captures") }

// openCaptures opens the sample of a daemon; nil for none.
func (f *serveFlags) openCaptures() (*captures.Sample, error) {
	if f.captures == 0 {
		return nil, nil
	}
	sample, err := captures.Open(capturesDir(f.db), captures.Options{MaxRows: f.captures})
	f.server.Captures = sample
	return sample, err
}

func closeCaptures(s *captures.Sample) error {
	if s == nil {
		return nil
	}
	return s.Close()
}

// loadSample reads the captures that a daemon kept in the directory of its store.
func loadSample(ctx context.Context, log *audit.Log, db string) (err error) {
	sample, err := captures.Open(capturesDir(db), captures.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the captures of %s; it has none: %w", db, err)
	}
	if err != nil {
		return fmt.Errorf("%w; of a daemon that runs, read GET /v1/captures", err)
	}
	defer func() { err = errors.Join(err, sample.Close()) }()
	for c, err := range sample.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = log.Add(audit.Capture{URL: c.URL, Time: c.Time, Status: c.Status, Digest: c.Digest, Redirect: audit.Resolve(c.URL, c.Redirect)})
		}
		if err != nil {
			return fmt.Errorf("cannot read the captures of %s: %w", db, err)
		}
	}
	return nil
}
