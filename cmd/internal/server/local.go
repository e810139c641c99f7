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

// OpenLocal opens the handlers on a store, which stays the caller's. If it only reads, it writes nothing, not even
// what a frontier writes when it is opened, and so reads stores whose keys this program cannot make, too.
func OpenLocal(ctx context.Context, st store.Store, readOnly bool, log *slog.Logger) (*Local, error) {
	l := &Local{}
	cfg := Config{Exports: st, Logger: log, Queues: DefaultQueues}.withDefaults()
	cfg.Store, _ = st.(StoreMetrics)
	s := newHTTPAPI(newMetrics(newService(cfg, guard{reader: storeReader{st}})), false)
	s.local, s.registry = true, prometheus.NewRegistry() // a command counts nothing that lasts
	if !readOnly {
		p, err := canon.ParseRecorded(st.Identity().Profile)
		if err != nil {
			return nil, fmt.Errorf("cannot make the keys of the store: %w", err)
		}
		if l.front, err = frontier.New(st, frontier.Options{Profile: p}); err != nil {
			return nil, err
		}
		s.f = guard{own: l.front, reader: l.front}
	}
	if err := s.readPause(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read whether queues are paused: %w", err), l.Close())
	}
	mux := http.NewServeMux()
	for _, r := range s.described() {
		if reads := r.pattern == "GET /v1/stats" || r.pattern == "GET /v1/queues"; reads || !readOnly {
			mux.HandleFunc(r.pattern, s.admitted(r))
		}
	}
	l.Handler = mux
	return l, nil
}

// Close closes what OpenLocal opened.
func (l *Local) Close() error {
	if l.front == nil {
		return nil
	}
	return l.front.Close()
}

// storeReader is a reader of a store.
type storeReader struct{ store store.Store }

// stored returns the name that a crawl has in the store. One that is not there has its own, and no URLs.
func (r storeReader) stored(ctx context.Context, crawl string) (string, error) {
	if crawl == "*" {
		return crawl, nil
	}
	c, err := frontier.FindCrawl(ctx, r.store, crawl)
	if errors.Is(err, store.ErrNotFound) {
		return crawl, nil
	}
	return c.Stored, err
}

func (r storeReader) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	stored, err := r.stored(ctx, crawl)
	if err != nil {
		return store.Stats{}, err
	}
	return r.store.Stats(ctx, stored)
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
	stored, err := r.stored(ctx, crawl)
	if err != nil {
		return store.CrawlSettings{}, err
	}
	return r.store.CrawlSettings(ctx, stored)
}

func (r storeReader) Queue(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	stored, err := r.stored(ctx, crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	q, err := r.store.QueueInfo(ctx, stored, queue)
	q.Crawl = crawl
	return q, err
}

func (r storeReader) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		stored, err := r.stored(ctx, crawl)
		if err != nil {
			yield(store.QueueInfo{}, err)
			return
		}
		for q, err := range r.store.Queues(ctx, stored, after) {
			if q.Crawl = crawl; !yield(q, err) {
				return
			}
		}
	}
}

func (r storeReader) Entries(ctx context.Context, crawl, queue string) iter.Seq2[frontier.Entry, error] {
	return func(yield func(frontier.Entry, error) bool) {
		stored, err := r.stored(ctx, crawl)
		if err != nil {
			yield(frontier.Entry{}, err)
			return
		}
		for e, err := range r.store.Entries(ctx, stored, queue) {
			if !yield(frontier.Entry{Entry: e}, err) {
				return
			}
		}
	}
}
