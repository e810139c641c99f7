package server

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// GetStats implements the call. An unknown crawl or queue has zeros.
func (s *grpcAPI) GetStats(ctx context.Context, p *frontierpb.QueueWithinCrawlParams) (*frontierpb.Stats, error) {
	crawl := crawlName(p.CrawlID)
	if p.Key != "" {
		return s.queueStats(ctx, crawl, p.Key, p.Local)
	}
	count := s.f.Stats
	if p.Local && s.cfg.Members != nil {
		count = s.localStats
	}
	st, err := count(ctx, crawl)
	return statsOf(crawl, st), err
}

func statsOf(crawl string, st store.Stats) *frontierpb.Stats {
	return &frontierpb.Stats{
		Size:           uint64(st.Held),
		InProcess:      uint32(min(st.InFlight, 1<<32-1)),
		NumberOfQueues: uint64(st.Queues),
		CrawlID:        crawl,
		Counts: map[string]uint64{
			"completed":     uint64(st.Completed),
			"dropped":       uint64(st.Dropped),
			"fetched":       uint64(st.Fetched),
			"failed":        uint64(st.Failed),
			"active_queues": uint64(st.Active),
			"seen":          uint64(st.Seen),
		},
	}
}

func (s *grpcAPI) queueStats(ctx context.Context, crawl, key string, local bool) (*frontierpb.Stats, error) {
	mine, err := s.share(ctx, local)
	if err != nil {
		return nil, err
	}
	var st store.Stats
	q, err := s.f.Queue(ctx, crawl, key)
	if err == nil && mine(crawl, key) {
		addQueue(&st, &q)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return statsOf(crawl, st), err
}

// addQueue adds the counts of a queue. What was seen and is in no queue is not
// counted.
func addQueue(st *store.Stats, q *store.QueueInfo) {
	st.Add(store.Stats{Seen: q.Held + q.Completed + q.Dropped, Held: q.Held, InFlight: q.InFlight, Completed: q.Completed,
		Dropped: q.Dropped, Fetched: q.Fetched, Failed: q.Failed, Queues: 1, Active: min(q.Held, 1)})
}

// isUsed reports whether a queue holds anything or ever did; others have settings alone.
func isUsed(q *store.QueueInfo) bool {
	return q.Held+q.Completed+q.Dropped > 0 || !q.LastTake.IsZero()
}

// ListQueues implements the call. Unlike URLFrontier's, pages are in order of
// name, and so stay the same while queues are served. Size is the number of
// values returned, as URLFrontier has it.
func (s *grpcAPI) ListQueues(ctx context.Context, p *frontierpb.Pagination) (*frontierpb.QueueList, error) {
	crawl := crawlName(p.CrawlID)
	st, err := s.f.Stats(ctx, crawl)
	if err != nil {
		return nil, err
	}
	mine, err := s.share(ctx, p.Local)
	if err != nil {
		return nil, err
	}
	size := cmp.Or(p.Size, pageSize)
	list := &frontierpb.QueueList{Total: uint64(st.Queues), Start: p.Start, CrawlID: crawl}
	skip, now := p.Start, time.Now()
	for q, err := range s.f.Queues(ctx, crawl, "") {
		switch {
		case err != nil:
			return nil, err
		case !p.IncludeInactive && (q.Held == 0 || q.BlockedUntil.After(now)):
		case !mine(crawl, q.Name):
		case !isUsed(&q):
		case skip > 0:
			skip--
		default:
			list.Values = append(list.Values, q.Name)
		}
		if len(list.Values) == int(size) {
			break
		}
	}
	list.Size = uint32(len(list.Values))
	return list, nil
}

// ListCrawls implements the call.
func (s *grpcAPI) ListCrawls(ctx context.Context, _ *frontierpb.Local) (*frontierpb.StringList, error) {
	names, err := s.f.Crawls(ctx)
	return &frontierpb.StringList{Values: names}, err
}

// ListURLs implements the call.
func (s *grpcAPI) ListURLs(p *frontierpb.ListUrlParams, stream frontierpb.URLFrontier_ListURLsServer) error {
	crawl := crawlName(p.CrawlID)
	match := matcher(p.GetFilter(), p.GetIgnoreCase())
	mine, err := s.share(stream.Context(), p.Local)
	if err != nil {
		return s.fault("list URLs", err)
	}
	skip, left := p.Start, cmp.Or(p.Size, pageSize)
	for e, err := range s.f.Entries(stream.Context(), crawl, p.Key) {
		if err != nil {
			return s.fault("list URLs", err)
		}
		if !match(e.URL) || !mine(crawl, e.Queue) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if err := stream.Send(itemOf(&e, crawl)); err != nil {
			return err
		}
		if left--; left == 0 || s.isDraining() {
			break
		}
	}
	return nil
}

// itemOf returns an entry in the form of the protocol.
func itemOf(e *frontier.Entry, crawl string) *frontierpb.URLItem {
	url := wireURL(e.URL)
	info := &frontierpb.URLInfo{Url: url, Key: e.Queue, CrawlID: crawl}
	unpackMeta(info, e.Meta)
	known := &frontierpb.KnownURLItem{Info: info}
	if e.State == store.Queued || e.State == store.Leased {
		known.RefetchableFromDate = max(dateOf(e.Due), 1)
	}
	return &frontierpb.URLItem{
		Item:         &frontierpb.URLItem_Known{Known: known},
		ID:           url,
		CreationDate: dateOf(e.Created),
	}
}

// CountURLs implements the call: off a counter, and by a scan only where a
// filter asks for it.
func (s *grpcAPI) CountURLs(ctx context.Context, p *frontierpb.CountUrlParams) (*frontierpb.Long, error) {
	if p.GetFilter() == "" {
		st, err := s.GetStats(ctx, &frontierpb.QueueWithinCrawlParams{Key: p.Key, CrawlID: p.CrawlID, Local: p.GetLocal()})
		return &frontierpb.Long{Value: st.GetCounts()["seen"]}, err
	}
	match := matcher(p.GetFilter(), p.GetIgnoreCase())
	crawl := crawlName(p.CrawlID)
	mine, err := s.share(ctx, p.GetLocal())
	if err != nil {
		return nil, err
	}
	var n uint64
	for e, err := range s.f.Entries(ctx, crawl, p.Key) {
		if err != nil {
			return nil, err
		}
		if match(e.URL) && mine(crawl, e.Queue) {
			n++
		}
	}
	return &frontierpb.Long{Value: n}, nil
}

// GetURLStatus implements the call.
func (s *grpcAPI) GetURLStatus(ctx context.Context, p *frontierpb.URLStatusRequest) (*frontierpb.URLItem, error) {
	if p.Url == "" {
		return nil, status.Error(codes.InvalidArgument, "cannot look up; got no URL")
	}
	crawl := crawlName(p.CrawlID)
	e, err := s.f.Lookup(ctx, frontier.Link{URL: p.Url, Queue: p.Key, Crawl: crawl})
	if errors.Is(err, store.ErrNotFound) {
		return nil, status.Error(codes.NotFound, "") // as URLFrontier's, which some compare with the bare code
	}
	if err != nil {
		return nil, err
	}
	e.URL, e.Queue = cmp.Or(e.URL, p.Url), cmp.Or(e.Queue, p.Key)
	return itemOf(&e, crawl), nil
}

// ListNodes implements the call.
func (s *grpcAPI) ListNodes(ctx context.Context, _ *frontierpb.Empty) (*frontierpb.StringList, error) {
	nodes, err := s.nodes(ctx)
	return &frontierpb.StringList{Values: nodes}, err
}

// share returns a function that reports whether a queue is meant: all of them, or those local to
// this node.
func (s *grpcAPI) share(ctx context.Context, local bool) (func(crawl, queue string) bool, error) {
	all := func(string, string) bool { return true }
	if !local || s.cfg.Members == nil {
		return all, nil
	}
	nodes, err := s.nodes(ctx)
	if err != nil || len(nodes) < 2 {
		return all, err
	}
	self := s.Node()
	return func(crawl, queue string) bool { return ownerOf(crawl, queue, nodes) == self }, nil
}

// ownerOf picks the node that a queue is local to: the largest hash of both, so that a
// node that comes or goes moves no more than its own share.
func ownerOf(crawl, queue string, nodes []string) string {
	weight := func(node string) uint64 {
		h := fnv.New64a()
		for _, part := range []string{node, crawl, queue} {
			_, _ = h.Write(append([]byte(part), 0)) // it has no error
		}
		// FNV's high bits change little with the last bytes: mix them.
		v := h.Sum64()
		v ^= v >> 33
		v *= 0xff51afd7ed558ccd
		return v ^ v>>33
	}
	return slices.MaxFunc(nodes, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
}

// localStats counts the queues of this node's share, by a scan. What was seen and
// is in no queue is in no node's share.
func (s *grpcAPI) localStats(ctx context.Context, crawl string) (store.Stats, error) {
	mine, err := s.share(ctx, true)
	if err != nil {
		return store.Stats{}, err
	}
	var sum store.Stats
	for q, err := range s.f.Queues(ctx, crawl, "") {
		if err != nil {
			return sum, err
		}
		if mine(q.Crawl, q.Name) && q.Held+q.Completed+q.Dropped > 0 {
			addQueue(&sum, &q)
		}
	}
	return sum, nil
}

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
