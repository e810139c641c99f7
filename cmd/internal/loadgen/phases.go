package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// result is what a phase did.
type result struct {
	phase     string
	urls      int64
	took      time.Duration
	cpu       time.Duration // of the server
	latencies []time.Duration
	failed    int64
}

// measure runs a phase and charges it with the server's processor time.
func (t *target) measure(phase string, run func() (result, error)) (result, error) {
	before, began := t.cpu(), time.Now()
	r, err := run()
	r.phase, r.took, r.cpu = phase, time.Since(began), t.cpu()-before
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", t.name, phase, err)
	}
	return r, err
}

// parallel runs f on n clients of their own connections.
func (t *target) parallel(n int, f func(k int, c pb.URLFrontierClient) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for k := range n {
		c, closeConn, err := t.dial()
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer closeConn()
			errs[k] = f(k, c)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// putURLs sends URLs one by one over two streams, at most window in flight on
// each.
func (t *target) putURLs(ctx context.Context, urls []*pb.URLInfo, window int) (result, error) {
	var failed, done atomic.Int64
	err := t.parallel(2, func(k int, c pb.URLFrontierClient) error {
		stream, err := c.PutURLs(ctx)
		if err != nil {
			return err
		}
		slots := make(chan struct{}, window)
		sent := make(chan error, 1)
		go func() {
			for i, u := range share(urls, k, 2) {
				slots <- struct{}{}
				item := &pb.URLItem{ID: strconv.Itoa(i), Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: u}}}
				if err := stream.Send(item); err != nil {
					sent <- err
					return
				}
			}
			sent <- stream.CloseSend()
		}()
		for {
			ack, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return <-sent
			}
			if err != nil {
				return err
			}
			if done.Add(1); ack.Status == pb.AckMessage_FAIL {
				failed.Add(1)
			}
			<-slots
		}
	})
	return result{urls: done.Load(), failed: failed.Load()}, err
}

// putDiscovered sends URLs in batches over two streams, at most window URLs in
// flight on each.
func (t *target) putDiscovered(ctx context.Context, urls []*pb.URLInfo, size, window int) (result, error) {
	var failed, done atomic.Int64
	err := t.parallel(2, func(k int, c pb.URLFrontierClient) error {
		stream, err := c.PutDiscovered(ctx)
		if err != nil {
			return err
		}
		slots := make(chan struct{}, max(window/size, 1))
		sent := make(chan error, 1)
		go func() {
			for batch := range slices.Chunk(share(urls, k, 2), size) {
				slots <- struct{}{}
				if err := stream.Send(&pb.DiscoveredBatch{Items: batch}); err != nil {
					sent <- err
					return
				}
			}
			sent <- stream.CloseSend()
		}()
		for {
			ack, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return <-sent
			}
			if err != nil {
				return err
			}
			done.Add(int64(len(ack.Statuses)))
			for _, s := range ack.Statuses {
				if s == pb.AckMessage_FAIL {
					failed.Add(1)
				}
			}
			<-slots
		}
	})
	return result{urls: done.Load(), failed: failed.Load()}, err
}

// cycle fetches: it takes URLs and completes each, until it did so many or
// time is up.
func (t *target) cycle(ctx context.Context, clients int, queues uint32, most int64, limit time.Duration) (result, error) {
	var done atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	end := time.Now().Add(limit)
	err := t.parallel(clients, func(_ int, c pb.URLFrontierClient) error {
		stream, err := c.PutURLs(ctx)
		if err != nil {
			return err
		}
		for done.Load() < most && time.Now().Before(end) {
			began := time.Now()
			urls, err := take(ctx, c, &pb.GetParams{MaxQueues: queues, MaxUrlsPerQueue: 10})
			if err != nil {
				return err
			}
			mu.Lock()
			all = append(all, time.Since(began))
			mu.Unlock()
			if len(urls) == 0 && done.Load() == 0 {
				return errors.New("got nothing to fetch")
			}
			if err := complete(stream, urls); err != nil {
				return err
			}
			if done.Add(int64(len(urls))); len(urls) == 0 {
				return nil
			}
		}
		return stream.CloseSend()
	})
	return result{urls: done.Load(), latencies: all}, err
}

func take(ctx context.Context, c pb.URLFrontierClient, p *pb.GetParams) ([]*pb.URLInfo, error) {
	stream, err := c.GetURLs(ctx, p)
	if err != nil {
		return nil, err
	}
	var urls []*pb.URLInfo
	for {
		u, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return urls, nil
		}
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
}

// complete puts URLs as done and waits for their acks.
func complete(stream pb.URLFrontier_PutURLsClient, urls []*pb.URLInfo) error {
	sent := make(chan error, 1)
	go func() {
		for _, u := range urls {
			if err := stream.Send(&pb.URLItem{Item: &pb.URLItem_Known{Known: &pb.KnownURLItem{Info: u}}}); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range urls {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
	return <-sent
}

// drain takes everything in one call.
func (t *target) drain(ctx context.Context) (result, error) {
	c, closeConn, err := t.dial()
	if err != nil {
		return result{}, err
	}
	defer closeConn()
	urls, err := take(ctx, c, &pb.GetParams{})
	return result{urls: int64(len(urls))}, err
}

// emptyQueues makes n queues and completes nearly all of them, then asks for
// work many times.
func (t *target) emptyQueues(ctx context.Context, n int) (result, error) {
	var r result
	err := t.parallel(2, func(k int, c pb.URLFrontierClient) error {
		stream, err := c.PutURLs(ctx)
		if err != nil {
			return err
		}
		for first := k * 1000; first < n; first += 2000 {
			var urls []*pb.URLInfo
			for i := first; i < min(first+1000, n); i++ {
				urls = append(urls, &pb.URLInfo{Url: fmt.Sprintf("https://empty%d.example/", i), Key: fmt.Sprintf("empty%d.example", i)})
			}
			if err := complete(stream, urls); err != nil {
				return err
			}
		}
		return stream.CloseSend()
	})
	return r, err
}

// gets asks for work so many times, and keeps each call's time.
func (t *target) gets(ctx context.Context, calls int) (result, error) {
	c, closeConn, err := t.dial()
	if err != nil {
		return result{}, err
	}
	defer closeConn()
	var r result
	for range calls {
		began := time.Now()
		urls, err := take(ctx, c, &pb.GetParams{MaxQueues: 10, MaxUrlsPerQueue: 10})
		if err != nil {
			return r, err
		}
		r.latencies = append(r.latencies, time.Since(began))
		r.urls += int64(len(urls))
	}
	return r, nil
}
