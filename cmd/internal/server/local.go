package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// Local answers requests about a store that no daemon serves, by the handlers of the daemon: a command has one
// client, with two transports. It listens nowhere, asks for no token, and runs nothing in the background.
type Local struct {
	http.Handler
	front *frontier.Frontier // nil if it only reads
}

// DefaultQueues are what serve sets for queues that have no settings of their own.
var DefaultQueues = QueueDefaults{MaxInFlight: 1, Delay: time.Second}

// OpenLocal opens the handlers on a store, which stays the caller's. They are those of a frontier on the store, which Close
// closes; with nil, OpenLocal makes one of the profile that the store names. If it only reads, the store is opened for
// reading, and nothing is written; of a store whose keys this program cannot make, stats and queues are read all the same.
func OpenLocal(ctx context.Context, st store.Store, front *frontier.Frontier, readOnly bool, log *slog.Logger) (*Local, error) {
	l := &Local{front: front}
	cfg := Config{Exports: st, Logger: log, Queues: DefaultQueues}.withDefaults()
	cfg.Store, _ = st.(StoreMetrics)
	s := newHTTPAPI(newMetrics(newService(cfg, guard{reader: storeReader{st}})), false)
	s.local, s.registry = true, prometheus.NewRegistry() // a command counts nothing that lasts
	var unmade error                                     // why there is no frontier
	if front == nil {
		if l.front, unmade = frontierOf(st, readOnly, log); unmade != nil && !readOnly {
			return nil, unmade
		}
	}
	if l.front != nil {
		s.f = guard{own: l.front, reader: l.front}
	}
	if err := s.readPause(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read whether queues are paused: %w", err), l.Close(ctx))
	}
	mux := http.NewServeMux()
	for _, r := range s.described() {
		switch {
		case l.front != nil, r.pattern == "GET /v1/stats", r.pattern == "GET /v1/queues":
			mux.HandleFunc(r.pattern, s.admitted(r))
		default:
			mux.HandleFunc(r.pattern, func(w http.ResponseWriter, _ *http.Request) { s.writeFault(w, "read of the store", unmade) })
		}
	}
	l.Handler = mux
	return l, nil
}

func frontierOf(st store.Store, readOnly bool, log *slog.Logger) (*frontier.Frontier, error) {
	p, err := canon.ParseRecorded(st.Identity().Profile)
	if err != nil {
		return nil, fmt.Errorf("cannot make the keys of the store: %w", err)
	}
	return frontier.New(st, frontier.Options{Profile: p, Logger: log, ReadOnly: readOnly})
}

// Close closes what OpenLocal opened, once the URLs that a command excluded are forgotten. Once ctx ends, it waits for them no longer.
func (l *Local) Close(ctx context.Context) error {
	if l.front == nil {
		return nil
	}
	return errors.Join(l.front.WaitExcluded(ctx), l.front.Close())
}

// storeReader is a reader of a store.
type storeReader struct{ store store.Store }

// named reads of a crawl by the name that it has in a store. One that is not there has its own, and no URLs.
func named[T any](ctx context.Context, st store.Store, crawl string, read func(stored string) (T, error)) (none T, err error) {
	stored := crawl
	if crawl != "*" {
		switch c, err := frontier.FindCrawl(ctx, st, crawl); {
		case err == nil:
			stored = c.Stored
		case !errors.Is(err, store.ErrNotFound):
			return none, err
		}
	}
	return read(stored)
}

func (r storeReader) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	return named(ctx, r.store, crawl, func(stored string) (store.Stats, error) { return r.store.Stats(ctx, stored) })
}

func (r storeReader) Crawls(ctx context.Context) (names []string, err error) {
	list, err := frontier.StoredCrawls(ctx, r.store)
	for _, c := range list {
		if !c.Hidden() {
			names = append(names, c.Name)
		}
	}
	return names, err
}

func (r storeReader) Settings(ctx context.Context, crawl string) (store.CrawlSettings, error) {
	return named(ctx, r.store, crawl, func(stored string) (store.CrawlSettings, error) { return r.store.CrawlSettings(ctx, stored) })
}

func (r storeReader) Queue(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	q, err := named(ctx, r.store, crawl, func(stored string) (store.QueueInfo, error) { return r.store.QueueInfo(ctx, stored, queue) })
	q.Crawl = crawl
	return q, err
}

func (r storeReader) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return namedList(ctx, r.store, crawl, func(stored string) iter.Seq2[store.QueueInfo, error] { return r.store.Queues(ctx, stored, after) },
		func(q store.QueueInfo) store.QueueInfo {
			q.Crawl = crawl
			return q
		})
}

func (r storeReader) Entries(ctx context.Context, crawl, queue string) iter.Seq2[frontier.Entry, error] {
	return namedList(ctx, r.store, crawl, func(stored string) iter.Seq2[store.Entry, error] { return r.store.Entries(ctx, stored, queue) },
		func(e store.Entry) frontier.Entry { return frontier.Entry{Entry: e} })
}

// namedList is named for a list.
func namedList[T, U any](ctx context.Context, st store.Store, crawl string, list func(stored string) iter.Seq2[T, error], as func(T) U) iter.Seq2[U, error] {
	return func(yield func(U, error) bool) {
		all, err := named(ctx, st, crawl, func(stored string) (iter.Seq2[T, error], error) { return list(stored), nil })
		if err != nil {
			var none U
			yield(none, err)
			return
		}
		for v, err := range all {
			if !yield(as(v), err) {
				return
			}
		}
	}
}
