package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/store/captures"
)

// capturesDir is where, in the directory of a store, serve keeps what fetches gave.
func capturesDir(db string) string { return filepath.Join(db, "captures") }

// openCaptures opens the sample of a daemon, if it keeps one. If that fails, the daemon serves
// without a sample, and reports it in its log and metrics.
func (f *serveFlags) openCaptures(log *slog.Logger) *captures.Sample {
	if f.captures == 0 {
		return nil
	}
	dir := capturesDir(f.db)
	sample, err := captures.Open(dir, captures.Options{MaxRows: f.captures, OnFault: func(err error) {
		if err != nil {
			log.Error("cannot write fetches that the rules are judged by; they are dropped until a write succeeds", "error", err)
			return
		}
		log.Info("fetches are kept again")
	}})
	if err != nil {
		log.Error("serving without the fetches that the rules are judged by; the crawl is not affected. Repair the disk, or remove "+dir+", and start the daemon again", "error", err)
		f.server.CapturesError = err
		return nil
	}
	if st := sample.Stats(); st.Damaged > 0 {
		log.Warn("some fetches that the rules are judged by are damaged and ignored; the crawl is not affected", "dir", dir, "damaged", st.Damaged, "kept", st.Rows)
	}
	f.server.Captures = sample
	return sample
}

// closeCaptures closes the sample, and waits at most 5 s for its disk.
func closeCaptures(log *slog.Logger, s *captures.Sample) {
	if s == nil {
		return
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	var err error
	select {
	case err = <-closed:
	case <-time.After(5 * time.Second):
		err = errors.New("the disk does not answer")
	}
	if err != nil {
		log.Warn("the latest fetches that the rules are judged by may be lost", "error", err)
	}
}

// loadSample reads the captures that a daemon kept in the directory of its store.
func loadSample(ctx context.Context, log *audit.Log, db string) (err error) {
	sample, err := captures.OpenReadOnly(capturesDir(db))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the captures of %s; it has none: %w", db, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sample.Close()) }()
	for c, err := range sample.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = log.Add(audit.Capture{URL: c.URL, Time: c.Time, Status: c.Status, Digest: c.Digest, Redirect: audit.Resolve(c.URL, c.Redirect),
				Canonical: c.Canonical, NoVarySearch: c.NoVarySearch, CleanParam: c.CleanParam})
		}
		if err != nil {
			return fmt.Errorf("cannot read the captures of %s: %w", db, err)
		}
	}
	return nil
}

// verifyCaptures reads the captures that a daemon kept in the directory of its store, if it did.
func verifyCaptures(a *app, db string) error {
	dir := capturesDir(db)
	rows, damaged, err := captures.Verify(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	advice := "; nothing in the store depends on them: remove " + dir + " to begin again"
	if err != nil {
		return fmt.Errorf("cannot verify the fetches that were kept%s: %w", advice, err)
	}
	if _, err := fmt.Fprintf(a.out, "%s fetches kept\n", grouped(int64(rows))); err != nil {
		return err
	}
	if damaged > 0 {
		return fmt.Errorf("the file of fetches is damaged: serve ignores %d of its lines%s", damaged, advice)
	}
	return nil
}
