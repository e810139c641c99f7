package main

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/backup"
	"github.com/firstseen/firstseen/store"
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
	opt.OnDamage = func(err error) {
		a.log.Error("the disk damaged a part of the store: its keys are refused; run firstseen verify, and restore a backup", "error", err)
	}
	s, err := pebblestore.Open(f.db, opt)
	if err != nil {
		return nil, err
	}
	f.server.Store = s
	if f.backupDir != "" {
		if f.server.Backups, err = backup.Open(f.backupDir, s, f.db); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}
