package pebblestore

import (
	"context"
	"errors"
	"iter"

	"github.com/firstseen/firstseen/store"
)

// This file and its neighbours queue*.go, take*.go, settle*.go, recover*.go
// are the queue side. What the engine offers it:
//
//	op      a step the committer applies: commit.go
//	txn     the group's rows, time, seen set: txn.go
//	do      hands an op to the committer and waits until it is durable
//	mu      held by the committer while it applies; readers take it for reading
//	scan    rows of a table; get a row
//
// and what the engine asks of it is below.

// scheduler is the queue side's state of the whole store. Guarded by Store.mu.
type scheduler struct{}

// queueState is the queue side's state of one crawl. Guarded by Store.mu.
type queueState struct{}

// addStats adds the crawl's queue counts.
func (q *queueState) addStats(st *store.Stats) {}

// loadQueues brings the queue rows into memory. It runs at open, after the
// crawls and the seen index, before the committer; it may write to s.db.
func (s *Store) loadQueues() error { return nil }

// forgetQueues removes the queue rows and state of a whole crawl, within a
// Forget; the seen side is the engine's.
func (tx *txn) forgetQueues(c *crawl) {}

// forgetHeld removes one key's queue rows and state, ending its lease.
func (tx *txn) forgetHeld(c *crawl, k *store.Key) {}

// isHeld says whether k is queued or leased, so that it may not expire.
func (c *crawl) isHeld(k *store.Key) bool { return false }

// errQueues is the answer of what the queue side hasn't taken over yet.
var errQueues = errors.New("pebblestore: no queues yet")

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	return store.Taken{}, errQueues
}

// Settle implements store.Store.
func (s *Store) Settle(ctx context.Context, crawl string, in []store.Settlement) ([]store.SettleStatus, error) {
	return nil, errQueues
}

// Configure implements store.Store.
func (s *Store) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	return errQueues
}

// Lookup implements store.Store.
func (s *Store) Lookup(ctx context.Context, crawl string, key store.Key) (store.Entry, error) {
	return s.lookupSeen(crawl, key)
}

// QueueInfo implements store.Store.
func (s *Store) QueueInfo(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	return store.QueueInfo{}, store.ErrNotFound
}

// Queues implements store.Store.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(func(store.QueueInfo, error) bool) {}
}

// Entries implements store.Store.
func (s *Store) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(func(store.Entry, error) bool) {}
}
