package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/steer"
	"github.com/firstseen/firstseen/frontier/frontierpb"
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

// SetDelay implements the call. A delay of 0 means none, and not the default.
func (s *grpcAPI) SetDelay(ctx context.Context, p *frontierpb.QueueDelayParams) (*frontierpb.Empty, error) {
	delay := time.Duration(p.DelayRequestable) * time.Second
	if delay == 0 {
		delay = -1
	}
	change := store.QueueChange{Delay: &delay}
	if p.Key == "" {
		return s.configureAll(ctx, change)
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
	if err := s.f.Configure(ctx, crawl, key, c); err != nil {
		return nil, s.fault("change a queue", err)
	}
	return &frontierpb.Empty{}, nil
}

func (s *grpcAPI) configureAll(ctx context.Context, c store.QueueChange) (*frontierpb.Empty, error) {
	if err := s.f.Configure(ctx, "*", "", c); err != nil {
		return nil, s.fault("change the defaults", err)
	}
	return &frontierpb.Empty{}, nil
}

// controlCrawl is the server's own crawl, which is not listed.
const controlCrawl = steer.ControlCrawl

// SetActive implements the call. The pause is durable, but for that of one of
// several daemons alone, which is local and ends with it.
func (s *grpcAPI) SetActive(ctx context.Context, p *frontierpb.Active) (*frontierpb.Empty, error) {
	paused := !p.State
	if p.Local && s.cfg.Members != nil {
		s.pausedHere.set(paused)
		s.log.Info("changed whether this node may serve queues", "active", p.State)
		return &frontierpb.Empty{}, nil
	}
	if err := s.pause(ctx, paused); err != nil {
		return nil, s.fault("change the active state", err)
	}
	return &frontierpb.Empty{}, nil
}

// pause pauses or resumes all queues.
func (s *service) pause(ctx context.Context, paused bool) error {
	if err := steer.Pause(ctx, s.f.own, paused); err != nil {
		return err
	}
	s.paused.Store(paused)
	s.log.Info("changed whether queues may be served", "active", !paused)
	return nil
}

// localPause records whether this one of several daemons leases nothing. Safe for
// concurrent use; the zero value is not paused.
type localPause struct {
	mu      sync.Mutex
	paused  bool
	changed chan struct{} // closed at the next change, nil while no goroutine waits
}

func (l *localPause) set(paused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil && paused != l.paused {
		close(l.changed)
		l.changed = nil
	}
	l.paused = paused
}

// look returns the state, and a channel that is closed when it changes.
func (l *localPause) look() (paused bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.paused, l.changed
}

func (l *localPause) now() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// recallPause applies the pause that was set before a restart; again, since a
// crash may have come between its two halves.
func (s *service) recallPause(ctx context.Context) error {
	known, err := s.readPause(ctx)
	if err != nil || !known {
		return err
	}
	return steer.Pause(ctx, s.f.own, s.paused.Load())
}

// readPause asks the store for the pause, which another daemon may have set. known
// reports whether it was ever set.
func (s *service) readPause(ctx context.Context) (known bool, err error) {
	paused, known, err := steer.Paused(ctx, s.f.reader.Queue)
	if err == nil {
		s.paused.Store(paused)
	}
	return known, err
}

// GetActive implements the call.
func (s *grpcAPI) GetActive(ctx context.Context, p *frontierpb.Local) (*frontierpb.Boolean, error) {
	if s.cfg.Members != nil {
		if _, err := s.readPause(ctx); err != nil {
			return nil, s.fault("tell the active state", err)
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
