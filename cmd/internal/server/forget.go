package server

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
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
	if err != nil {
		return nil, s.fault("forget", err)
	}
	return &frontierpb.Long{Value: uint64(n)}, nil
}

func (s *service) forget(ctx context.Context, crawl string, r *wire.ForgetRequest) (int64, error) {
	n, err := s.f.Forget(ctx, crawl, r)
	if err == nil {
		s.log.Info("forgot URLs", "crawl", crawl, "queue", r.Queue, "urls", n)
	}
	return n, err
}

// postForget forgets what a request names.
func (s *httpAPI) postForget(w http.ResponseWriter, r *http.Request) {
	body, held, ok := readHeld[wire.ForgetRequest](s, w, r)
	defer held.done()
	if !ok {
		return
	}
	var n int64
	crawl, err := oneCrawl(body.Crawl)
	if err == nil {
		err = s.inTurn(r.Context(), max(callUnits, len(body.URLs)), func(ctx context.Context) (err error) {
			n, err = s.forget(ctx, crawl, &body)
			return err
		})
	}
	if err != nil {
		s.writeFault(w, "forget", err)
		return
	}
	writeJSON(w, http.StatusOK, wire.Forgotten{Forgotten: n})
}
