package server

import (
	"cmp"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

const (
	// encodeAtOnce is how many URLs are encoded ahead of being sent.
	encodeAtOnce = 64
)

// GetURLs implements the call. One queue is never served to two callers: a
// step of the store leases its URLs and starts its delay.
func (s *grpcAPI) GetURLs(p *frontierpb.GetParams, stream frontierpb.URLFrontier_GetURLsServer) error {
	s.count.getCalls.Inc()
	began := time.Now()
	defer func() {
		s.count.getLatency.Observe(time.Since(began).Seconds())
		s.count.lease.Observe(time.Since(began).Seconds())
	}()
	req, ok := leaseRequest(p)
	if !ok {
		return nil
	}
	req.MaxExpired = cmp.Or(s.cfg.MaxExpiredOverGRPC, -1)
	queues := int(p.MaxQueues)
	for p.MaxQueues == 0 || queues > 0 {
		req.MaxQueues = queues
		leases, full, err := s.leaseAndSend(stream, req)
		if err != nil {
			return err
		}
		queues -= countQueues(leases)
		if len(leases) < req.Max && !full || s.isDraining() {
			return nil
		}
	}
	return nil
}

// leaseAndSend is one step of GetURLs. It returns its leases, and reports whether it stopped at
// its number of bytes.
func (s *grpcAPI) leaseAndSend(stream frontierpb.URLFrontier_GetURLsServer, req frontier.LeaseRequest) (leases []*frontier.Lease, full bool, err error) {
	ctx := stream.Context()
	held, err := s.payForLeases(ctx, &req, sentCopies)
	if err != nil {
		return nil, false, err
	}
	defer func() { s.admission.keepUnsent(callOf(ctx), held) }()
	if leases, _, err = s.leaseNow(ctx, req); err != nil {
		held.done()
		return nil, false, s.fault("lease", err)
	}
	s.countLeases(ctx, len(leases))
	held.keep(costOfLeases(leases, sentCopies))
	full = bytesOfLeases(leases) >= req.MaxBytes
	return leases, full, s.sendLeases(stream, leases)
}

// leaseRequest returns what to lease; ok is false for a request nothing can
// match: a queue without the crawl it is in.
func leaseRequest(p *frontierpb.GetParams) (req frontier.LeaseRequest, ok bool) {
	req = frontier.LeaseRequest{
		Crawl:       "*",
		Queue:       p.Key,
		MaxPerQueue: int(min(p.MaxUrlsPerQueue, unbounded)),
		MaxInFlight: int(min(p.MaxUrlsPerQueue, unbounded)),
		Lease:       time.Duration(p.DelayRequestable) * time.Second,
	}
	if named, set := p.Item.(*frontierpb.GetParams_CrawlID); set {
		req.Crawl = crawlName(named.CrawlID)
	}
	if req.MaxPerQueue == 0 {
		req.MaxPerQueue, req.MaxInFlight = unbounded, -1
	}
	if req.Lease == 0 {
		req.Lease = defaultLease
	}
	req.Max = takeAtOnce
	if p.MaxQueues > 0 {
		req.Max = int(min(uint64(req.MaxPerQueue)*uint64(p.MaxQueues), takeAtOnce))
	}
	return req, p.Key == "" || req.Crawl != "*"
}

// sendLeases hands leases over, and drops their metadata when it is encoded. What could not be
// sent is given back, so that it needn't wait for its lease to run out.
func (s *grpcAPI) sendLeases(stream frontierpb.URLFrontier_GetURLsServer, leases []*frontier.Lease) error {
	for first := 0; first < len(leases); first += encodeAtOnce {
		some := leases[first:min(first+encodeAtOnce, len(leases))]
		messages := encodeAll(len(some), 128, func(dst []byte, i int) []byte {
			dst = appendLease(dst, some[i])
			some[i].Meta = nil // the client may take long
			return dst
		})
		for i := range messages {
			if err := stream.SendMsg(&messages[i]); err != nil {
				s.release(leases[first+i:])
				return err
			}
		}
	}
	return nil
}

// countQueues counts the different queues of leases; those of one queue come
// together.
func countQueues(leases []*frontier.Lease) int {
	n := 0
	for i, l := range leases {
		if i == 0 || l.Queue != leases[i-1].Queue || l.Crawl != leases[i-1].Crawl {
			n++
		}
	}
	return n
}
