package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// fill puts n URLs of each of some hosts.
func fill(t *testing.T, r *running, hosts, n int) {
	t.Helper()
	b := &pb.DiscoveredBatch{}
	for h := range hosts {
		for i := range n {
			b.Items = append(b.Items, &pb.URLInfo{Url: fmt.Sprintf("http://host%d.example/%d", h, i)})
		}
	}
	var ack pb.BatchAck
	if err := proto.Unmarshal(r.rpc.putBatches(t.Context(), []*putBatch{r.batchOf(b)})[0].data, &ack); err != nil || len(ack.Statuses) != hosts*n {
		t.Fatalf("got %d statuses, %v; want %d", len(ack.Statuses), err, hosts*n)
	}
}

// TestGetEverything asks without bounds for more than is leased at once.
func TestGetEverything(t *testing.T) {
	r := start(t, canon.None(), Config{})
	fill(t, r, 100, 123)
	if _, err := r.client(t).SetDelay(t.Context(), &pb.QueueDelayParams{}); err != nil {
		t.Fatal(err)
	}
	stream, err := r.client(t).GetURLs(t.Context(), &pb.GetParams{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for {
		u, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seen[u.Url] {
			t.Errorf("%s came twice", u.Url)
		}
		seen[u.Url] = true
	}
	if len(seen) != 12300 {
		t.Errorf("got %d URLs; want 12300", len(seen))
	}
}

// TestGetBounds asks with many clients at once: no URL comes twice, no queue
// is served to two, and each gets no more than it asked for.
func TestGetBounds(t *testing.T) {
	r := start(t, canon.None(), Config{})
	fill(t, r, 40, 10)
	var mu sync.Mutex
	seen, server := map[string]int{}, map[string]int{}
	var wg sync.WaitGroup
	for k := range 8 {
		c := r.client(t)
		wg.Go(func() {
			stream, err := c.GetURLs(t.Context(), &pb.GetParams{MaxQueues: 7, MaxUrlsPerQueue: 3})
			if err != nil {
				t.Error(err)
				return
			}
			queues := map[string]int{}
			for {
				u, err := stream.Recv()
				if err != nil {
					break
				}
				queues[u.Key]++
				mu.Lock()
				seen[u.Url]++
				if was, ok := server[u.Key]; ok && was != k {
					t.Errorf("queue %s was served to two", u.Key)
				}
				server[u.Key] = k
				mu.Unlock()
			}
			for queue, n := range queues {
				if n > 3 {
					t.Errorf("queue %s gave %d; want at most 3", queue, n)
				}
			}
			if len(queues) > 7 {
				t.Errorf("got %d queues; want at most 7", len(queues))
			}
		})
	}
	wg.Wait()
	if len(seen) != 120 {
		t.Errorf("got %d URLs; want 3 of each of 40 queues", len(seen))
	}
}

// breaking is a stream whose client goes away after some messages.
type breaking struct {
	grpc.ServerStream
	ctx  context.Context
	left int
	got  []string
}

func (b *breaking) Context() context.Context { return b.ctx }

func (b *breaking) Send(*pb.URLInfo) error { return errors.New("not used") }

func (b *breaking) SendMsg(m any) error {
	if b.left--; b.left < 0 {
		return errors.New("the client is gone")
	}
	var u pb.URLInfo
	if err := proto.Unmarshal(m.(*encoded).data, &u); err != nil {
		return err
	}
	b.got = append(b.got, u.Url)
	return nil
}

// TestGetGivesBack checks that what a client did not take needn't wait for its
// lease to run out.
func TestGetGivesBack(t *testing.T) {
	r := start(t, canon.None(), Config{})
	fill(t, r, 10, 1)
	gone := &breaking{ctx: t.Context(), left: 4}
	if err := r.rpc.GetURLs(&pb.GetParams{DelayRequestable: 3600}, gone); err == nil || len(gone.got) != 4 {
		t.Errorf("got %d URLs, %v; want 4 and an error", len(gone.got), err)
	}
	if st, err := r.f.Stats(t.Context(), "*"); err != nil || st.InFlight != 4 {
		t.Errorf("got %d in flight, %v; want 4", st.InFlight, err)
	}
}

// TestOneNew puts the same URLs by several streams at once: each is OK once.
func TestOneNew(t *testing.T) {
	const streams, n = 4, 2000
	r := start(t, canon.Qiita(), Config{})
	var ok atomic.Int64
	var wg sync.WaitGroup
	for range streams {
		stream, err := r.client(t).PutURLs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := range n {
				if err := stream.Send((&player{}).item(fmt.Sprintf("http://h%d.example/%d", i%7, i))); err != nil {
					t.Error(err)
					return
				}
			}
			if err := stream.CloseSend(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for acks := 0; ; acks++ {
				ack, err := stream.Recv()
				if errors.Is(err, io.EOF) && acks == n {
					return
				}
				if err != nil {
					t.Errorf("after %d acks: %v", acks, err)
					return
				}
				if ack.Status == pb.AckMessage_OK {
					ok.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if ok.Load() != n {
		t.Errorf("got %d OK; want %d", ok.Load(), n)
	}
}

// TestStatusOfAnUnknownURL answers as URLFrontier does, with the bare code.
func TestStatusOfAnUnknownURL(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	_, err := r.client(t).GetURLStatus(t.Context(), &pb.URLStatusRequest{Url: "http://a.example/"})
	if got := status.Convert(err); got.Code() != codes.NotFound || got.Message() != "" {
		t.Errorf("got %v; want NOT_FOUND without a message", err)
	}
}

// TestStatedThenDiscovered commits both in one batch: a URL that is discovered after its result was stated is
// known by then; one that is discovered first is new. Other crawls and, without canonical forms, other
// queues have URLs of their own.
func TestStatedThenDiscovered(t *testing.T) {
	for _, p := range []*canon.Profile{canon.None(), canon.Qiita()} {
		r := start(t, p, Config{})
		item := (&player{}).item
		acks := r.put(t, item("http://a.com/1 known=0"), item("http://a.com/1"), item("http://a.com/2"), item("http://a.com/2 known=0"),
			item("http://a.com/1 key=other"), item("http://a.com/1 crawl=c2"), item("http://a.com/1"))
		otherQueue := pb.AckMessage_OK
		if p.Name() != "none" {
			otherQueue = pb.AckMessage_SKIPPED
		}
		for i, want := range []pb.AckMessage_Status{pb.AckMessage_OK, pb.AckMessage_SKIPPED, pb.AckMessage_OK, pb.AckMessage_OK, otherQueue, pb.AckMessage_OK, pb.AckMessage_SKIPPED} {
			if acks[i].Status != want {
				t.Errorf("%s: item %d: got %s; want %s", p, i, acks[i].Status, want)
			}
		}
		if st, err := r.rpc.GetStats(t.Context(), &pb.QueueWithinCrawlParams{}); err != nil || st.Counts["completed"] != 2 {
			t.Errorf("%s: got %v, %v; want 2 completed", p, st, err)
		}
	}
}
