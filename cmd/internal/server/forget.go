package server

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// oneCrawl returns the crawl that a call changes. It refuses "*", which stands for all
// crawls: no call of the protocol changes all of them.
func oneCrawl(id string) (string, error) {
	crawl := crawlName(id)
	if crawl == "*" || crawl == controlCrawl {
		return "", status.Errorf(codes.InvalidArgument, "cannot change crawl %q; want the name of one crawl of URLs", crawl)
	}
	return crawl, nil
}

// DeleteQueue implements the call.
func (s *Server) DeleteQueue(ctx context.Context, p *frontierpb.QueueWithinCrawlParams) (*frontierpb.Long, error) {
	if p.Key == "" {
		return nil, status.Error(codes.InvalidArgument, "cannot delete a queue; got no key")
	}
	crawl, err := oneCrawl(p.CrawlID)
	if err != nil {
		return nil, err
	}
	return s.forget(ctx, frontier.Selection{Crawl: crawl, Queue: p.Key})
}

// DeleteCrawl implements the call.
func (s *Server) DeleteCrawl(ctx context.Context, p *frontierpb.DeleteCrawlMessage) (*frontierpb.Long, error) {
	crawl, err := oneCrawl(p.Value)
	if err != nil {
		return nil, err
	}
	return s.forget(ctx, frontier.Selection{Crawl: crawl})
}

func (s *Server) forget(ctx context.Context, sel frontier.Selection) (*frontierpb.Long, error) {
	n, err := s.f.Forget(ctx, sel)
	if err != nil {
		return nil, s.fault("forget", err)
	}
	s.log.Info("forgot URLs", "crawl", sel.Crawl, "queue", sel.Queue, "urls", n)
	return &frontierpb.Long{Value: uint64(n)}, nil
}

// purgeAtOnce bounds the keys that a purge holds in memory.
const purgeAtOnce = 100_000

// PurgeURLs implements the call: it forgets URLs by age, whatever their state.
// Those whose text is kept are found by a scan; the rest by the store's own
// means, where no queue is named.
func (s *Server) PurgeURLs(ctx context.Context, p *frontierpb.PurgeUrlParams) (*frontierpb.Long, error) {
	before := time.Now().Truncate(time.Second).AddDate(0, 0, -int(min(p.Days, 1<<20)))
	crawl, err := oneCrawl(p.CrawlID)
	if err != nil {
		return nil, err
	}
	var sum int64
	for {
		keys, err := s.olderThan(ctx, crawl, p.Key, before)
		if err != nil {
			return nil, s.fault("purge", err)
		}
		if len(keys) == 0 {
			break
		}
		n, err := s.f.Forget(ctx, frontier.Selection{Crawl: crawl, Keys: keys})
		if err != nil {
			return nil, s.fault("purge", err)
		}
		if sum += n; len(keys) < purgeAtOnce || n == 0 {
			break
		}
	}
	if p.Key != "" {
		return &frontierpb.Long{Value: uint64(sum)}, nil
	}
	rest, err := s.forget(ctx, frontier.Selection{Crawl: crawl, Before: before})
	if err != nil {
		return nil, err
	}
	return &frontierpb.Long{Value: rest.Value + uint64(sum)}, nil
}

// olderThan returns the first keys of URLs recorded before a time.
func (s *Server) olderThan(ctx context.Context, crawl, queue string, before time.Time) ([]store.Key, error) {
	var keys []store.Key
	for e, err := range s.f.Entries(ctx, crawl, queue) {
		if err != nil {
			return nil, err
		}
		if e.Created.Before(before) {
			keys = append(keys, e.Key)
		}
		if len(keys) == purgeAtOnce {
			break
		}
	}
	return keys, nil
}
