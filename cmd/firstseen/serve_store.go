package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/captures"
	"github.com/firstseen/firstseen/store/pebblestore"
	"github.com/firstseen/firstseen/store/redisstore"
)

// place settles what depends on where the store is: with --redis there is no
// disk to watch, and no directory to keep a sample of fetches in.
func (f *serveFlags) place() {
	if f.redis.given() {
		f.captures = 0
		return
	}
	f.server.Dir = f.db
}

// whereabouts is the store in the words of --check.
func (f *serveFlags) whereabouts() string {
	if f.redis.given() {
		return "redis " + strings.Join(f.redis.where, ",")
	}
	return "db " + f.db
}

// checkNode refuses an address that says nothing to others where the nodes are
// listed to them.
func (f *serveFlags) checkNode() error {
	if !f.redis.given() || f.server.Node != "" {
		return nil
	}
	host, _, err := net.SplitHostPort(f.server.GRPCAddr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return errors.New("cannot list this daemon among others; got --grpc " + f.server.GRPCAddr + "; want --node, the host:port that clients reach it by")
	}
	return nil
}

// openStore opens the store on disk or in Redis.
func (f *serveFlags) openStore(ctx context.Context, a *app) (store.Store, error) {
	if f.redis.given() {
		s, err := f.redis.open(ctx, a.log, redisstore.Options{KeepURLs: f.keepURLs})
		if err != nil {
			return nil, err
		}
		f.server.Members = s
		return s, nil
	}
	opt := f.storeOptions()
	opt.FS, opt.Logger = a.store.FS, a.log
	opt.OnDamage = func(err error) {
		a.log.Error("the disk damaged a part of the store: its keys are refused; run firstseen verify, and restore a backup", "error", err)
	}
	s, err := pebblestore.Open(f.db, opt)
	if err != nil {
		return nil, err
	}
	f.server.Store = s
	if f.backupDir != "" {
		if f.server.Backups, err = durable.OpenBackups(f.backupDir, s, f.db); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// capturesDir is where, in the directory of a store, serve keeps what fetches gave.
func capturesDir(db string) string { return filepath.Join(db, "captures") }

// openCaptures opens the sample of a daemon, if it keeps one. If that fails, the daemon serves
// without a sample, and reports it in its log and metrics.
func (f *serveFlags) openCaptures(log *slog.Logger) (*captures.Sample, error) {
	if f.captures == 0 {
		return nil, nil
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
		return nil, err
	}
	if st := sample.Stats(); st.Damaged > 0 {
		log.Warn("some fetches that the rules are judged by are damaged and ignored; the crawl is not affected", "dir", dir, "damaged", st.Damaged, "kept", st.Rows)
	}
	return sample, nil
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
	if err := log.AddSample(ctx, sample); err != nil {
		return fmt.Errorf("cannot read the captures of %s: %w", db, err)
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
	if _, err := fmt.Fprintf(a.out, "%s kept\n", plural(int64(rows), "fetch")); err != nil {
		return err
	}
	if damaged > 0 {
		return fmt.Errorf("the file of fetches is damaged: serve ignores %d of its lines%s", damaged, advice)
	}
	return nil
}

// checkStore opens the store, if there is one, and reports the outcome in words. A store of
// another profile fails the check, and so does a crawl of another profile than --crawl-profile
// says. It changes nothing.
func (f *serveFlags) checkStore(ctx context.Context, a *app, p *canon.Profile) (string, error) {
	open := f.openOnDisk
	if f.redis.given() {
		open = f.openInRedis
	}
	s, err := open(ctx, a, p)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "store: none yet; serve makes it", nil
	case errors.Is(err, store.ErrLocked):
		return "store not opened: another process has it open", nil
	case err != nil:
		return "", err
	}
	if err := errors.Join(f.checkCrawls(ctx, s, p), s.Close()); err != nil {
		return "", err
	}
	return "store: opens with this profile", nil
}

// openOnDisk opens the store on disk for reading alone.
func (f *serveFlags) openOnDisk(ctx context.Context, _ *app, p *canon.Profile) (store.Store, error) {
	opt := f.storeOptions()
	opt.Mode = pebblestore.OpenReadOnly
	s, err := pebblestore.Open(f.db, opt)
	if err != nil {
		return nil, err
	}
	return readOnly(ctx, s, p)
}

// openInRedis opens a store that exists in Redis, and checks all its servers.
func (f *serveFlags) openInRedis(ctx context.Context, a *app, p *canon.Profile) (store.Store, error) {
	s, err := f.redis.open(ctx, a.log, redisstore.Options{MustExist: true})
	if err != nil {
		return nil, err
	}
	if err := s.CheckServers(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return readOnly(ctx, s, p)
}

// readOnly compares the identity of a store with that of a profile, and closes the store if they differ.
func readOnly(ctx context.Context, s store.Store, p *canon.Profile) (store.Store, error) {
	terms := store.Terms{Identity: store.IdentityOf(p.WithListsOf(s.Identity().Profile)), ReadOnly: true}
	if err := s.Prepare(ctx, terms); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkCrawls returns an error if serve could not set the profile of a crawl: see
// frontier.SetCrawlProfile.
func (f *serveFlags) checkCrawls(ctx context.Context, s store.Store, base *canon.Profile) error {
	for _, want := range f.crawls {
		have, err := frontier.FindCrawl(ctx, s, want.crawl)
		if err == nil {
			err = checkCrawl(ctx, s, have, want, base)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

func checkCrawl(ctx context.Context, s store.Store, have frontier.StoredCrawl, want crawlProfile, base *canon.Profile) error {
	own := base.WithListsOf(s.Identity().Profile).String()
	if have.Own() {
		own = have.Identity.Profile
	}
	if own == want.profile.WithListsOf(own).String() {
		return nil
	}
	if !have.Own() {
		stats, err := s.Stats(ctx, have.Stored)
		if err != nil || stats.Seen == 0 {
			return err
		}
	}
	return fmt.Errorf("cannot set the profile of crawl %q to %s: its keys are made by %s permanently; use another crawl", want.crawl, want.profile, own)
}
