package server

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// These calls change how queues are served. What they set is durable, and is
// kept for queues that hold nothing yet.

// BlockQueueUntil implements the call.
func (s *grpcAPI) BlockQueueUntil(ctx context.Context, p *frontierpb.BlockQueueParams) (*frontierpb.Empty, error) {
	var until time.Time
	if p.Time != 0 {
		until = dueOf(p.Time)
	}
	return s.configureOne(ctx, p.CrawlID, p.Key, store.QueueChange{BlockedUntil: &until})
}

// SetDelay implements the call. A delay of 0 means none, and not the default. Without a key it is that of the queues of
// a crawl; without a crawl, that of all queues.
func (s *grpcAPI) SetDelay(ctx context.Context, p *frontierpb.QueueDelayParams) (*frontierpb.Empty, error) {
	delay := delayOf(float64(p.DelayRequestable))
	change := store.QueueChange{Delay: &delay}
	switch {
	case p.Key == "" && strings.TrimSpace(p.CrawlID) == "":
		return s.configure(ctx, "*", "", change)
	case p.Key == "":
		crawl, err := oneCrawl(p.CrawlID)
		if err != nil {
			return nil, err
		}
		return s.configure(ctx, crawl, "", change)
	}
	return s.configureOne(ctx, p.CrawlID, p.Key, change)
}

// SetCrawlLimit implements the call.
func (s *grpcAPI) SetCrawlLimit(ctx context.Context, p *frontierpb.CrawlLimitParams) (*frontierpb.Empty, error) {
	limit := int64(p.Limit)
	return s.configureOne(ctx, p.CrawlID, p.Key, store.QueueChange{Limit: &limit, MustExist: true})
}

// configureOne changes one queue of a client's. Without a key there is none to change.
func (s *grpcAPI) configureOne(ctx context.Context, id, key string, c store.QueueChange) (*frontierpb.Empty, error) {
	crawl, err := oneCrawl(id)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, status.Error(codes.InvalidArgument, "cannot change a queue; got no key")
	}
	return s.configure(ctx, crawl, key, c)
}

func (s *grpcAPI) configure(ctx context.Context, crawl, key string, c store.QueueChange) (*frontierpb.Empty, error) {
	return &frontierpb.Empty{}, s.f.Configure(ctx, crawl, key, c)
}

// SetActive implements the call. The pause is durable, but for that of one of
// several daemons alone, which is local and ends with it.
func (s *grpcAPI) SetActive(ctx context.Context, p *frontierpb.Active) (*frontierpb.Empty, error) {
	paused := !p.State
	if p.Local && s.cfg.Members != nil {
		s.pausedHere.set(paused)
		s.log.Info("changed whether this node may serve queues", "active", p.State)
		return &frontierpb.Empty{}, nil
	}
	return &frontierpb.Empty{}, s.pause(ctx, paused)
}

// GetActive implements the call.
func (s *grpcAPI) GetActive(ctx context.Context, p *frontierpb.Local) (*frontierpb.Boolean, error) {
	if s.cfg.Members != nil {
		if err := s.readPause(ctx); err != nil {
			return nil, err
		}
	}
	return &frontierpb.Boolean{State: !s.paused.Load() && !(p.GetLocal() && s.pausedHere.now())}, nil
}

// SetLogLevel implements the call.
func (s *grpcAPI) SetLogLevel(_ context.Context, p *frontierpb.LogLevelParams) (*frontierpb.Empty, error) {
	levels := map[frontierpb.LogLevelParams_Level]slog.Level{
		frontierpb.LogLevelParams_TRACE: slog.LevelDebug - 4,
		frontierpb.LogLevelParams_DEBUG: slog.LevelDebug,
		frontierpb.LogLevelParams_INFO:  slog.LevelInfo,
		frontierpb.LogLevelParams_WARN:  slog.LevelWarn,
		frontierpb.LogLevelParams_ERROR: slog.LevelError,
	}
	level, ok := levels[p.Level]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "cannot set log level; got %d", p.Level)
	}
	if s.cfg.Level != nil {
		s.cfg.Level.Set(level)
	}
	return &frontierpb.Empty{}, nil
}

// DeleteQueue implements the call.
func (s *grpcAPI) DeleteQueue(ctx context.Context, p *frontierpb.QueueWithinCrawlParams) (*frontierpb.Long, error) {
	if p.Key == "" {
		return nil, status.Error(codes.InvalidArgument, "cannot delete a queue; got no key")
	}
	return s.forgetOverGRPC(ctx, p.CrawlID, &wire.ForgetRequest{Queue: p.Key})
}

// DeleteCrawl implements the call.
func (s *grpcAPI) DeleteCrawl(ctx context.Context, p *frontierpb.DeleteCrawlMessage) (*frontierpb.Long, error) {
	return s.forgetOverGRPC(ctx, p.Value, &wire.ForgetRequest{All: true})
}

// PurgeURLs implements the call: it forgets URLs by age, whatever their state.
func (s *grpcAPI) PurgeURLs(ctx context.Context, p *frontierpb.PurgeUrlParams) (*frontierpb.Long, error) {
	before := time.Now().Truncate(time.Second).AddDate(0, 0, -int(min(p.Days, 1<<20)))
	return s.forgetOverGRPC(ctx, p.CrawlID, &wire.ForgetRequest{Queue: p.Key, Before: before, Held: true})
}

func (s *grpcAPI) forgetOverGRPC(ctx context.Context, id string, r *wire.ForgetRequest) (*frontierpb.Long, error) {
	crawl, err := oneCrawl(id)
	if err != nil {
		return nil, err
	}
	n, err := s.forget(ctx, crawl, r)
	return &frontierpb.Long{Value: uint64(n)}, err
}
