//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// client is the honest client.
type client struct {
	base  string
	conn  *grpc.ClientConn
	grpc  pb.URLFrontierClient
	web   *http.Client // keeps its connection
	fresh *http.Client // makes one for each call
}

func newClient(d *daemon) (*client, error) {
	conn, err := grpc.NewClient(d.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &client{base: "http://" + d.http_, conn: conn, grpc: pb.NewURLFrontierClient(conn),
		web: &http.Client{Transport: &http.Transport{}}, fresh: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}, nil
}

func (c *client) close() {
	_ = c.conn.Close() // nothing is under way
	c.web.CloseIdleConnections()
}

// result is what the client noticed: how long calls took, and those that failed.
type result struct {
	adds, leases []time.Duration // over connections that stay open
	fresh        []time.Duration // both, each over a new connection
	calls        int             // all, those too that were left out for stolen time
	failed       int
	err          error // of the first that failed
}

const (
	// every is how often each kind of call is due, and everyFresh each kind over a new
	// connection.
	every, everyFresh = 20 * time.Millisecond, 200 * time.Millisecond
	// patience is how long a call may take.
	patience = 30 * time.Second
)

// run makes calls for a time.
func (c *client) run(ctx context.Context, length time.Duration) *result {
	r := &result{}
	var mu sync.Mutex
	var all []timed
	watched := make(chan periods)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() { watched <- watch(watching) }()
	var wg sync.WaitGroup
	began := time.Now()
	for _, kind := range []struct {
		times *[]time.Duration
		every time.Duration
		call  func(ctx context.Context, i int) error
	}{
		{&r.adds, every, c.addGRPC}, {&r.adds, every, c.addHTTP(c.web)},
		{&r.leases, every, c.leaseGRPC}, {&r.leases, every, c.leaseHTTP(c.web)},
		{&r.fresh, everyFresh, c.addHTTP(c.fresh)}, {&r.fresh, everyFresh, c.leaseHTTP(c.fresh)},
	} {
		wg.Go(func() {
			for i := 0; ; i++ {
				due := began.Add(time.Duration(i) * kind.every)
				if due.Sub(began) >= length || time.Since(began) > length+patience || ctx.Err() != nil {
					return
				}
				time.Sleep(time.Until(due))
				one, cancel := context.WithTimeout(ctx, patience)
				err := kind.call(one, int(due.UnixMicro()))
				cancel()
				took := time.Since(due)
				mu.Lock()
				all = append(all, timed{kind.times, due.Sub(began), took})
				if err != nil {
					r.failed++
					r.err = cmp.Or(r.err, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	time.Sleep(period) // the last period ends
	stop()
	p := <-watched
	r.calls = len(all)
	counts := p.kept()
	for _, one := range all {
		if counts(one.due) {
			*one.kind = append(*one.kind, one.took)
		}
	}
	return r
}

// timed is a call: to which times of a result it belongs, when after the start it was due, and
// how long it took.
type timed struct {
	kind      *[]time.Duration
	due, took time.Duration
}

func p99(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)*99/100]
}

func withToken(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+honestToken)
}

func (c *client) addGRPC(ctx context.Context, i int) error {
	stream, err := c.grpc.PutURLs(withToken(ctx))
	if err != nil {
		return err
	}
	item := &pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{
		Url: fmt.Sprintf("http://g%d.example/%d", i%1000, i), CrawlID: "adds"}}}}
	if err := errors.Join(stream.Send(item), stream.CloseSend()); err != nil {
		return err
	}
	ack, err := stream.Recv()
	if err == nil && ack.Status == pb.AckMessage_FAIL {
		err = errors.New("got FAIL")
	}
	if err == nil {
		_, err = stream.Recv()
	}
	return notEOF(err)
}

func (c *client) leaseGRPC(ctx context.Context, _ int) error {
	stream, err := c.grpc.GetURLs(withToken(ctx), &pb.GetParams{MaxQueues: 1, MaxUrlsPerQueue: 1, DelayRequestable: 3600, Item: &pb.GetParams_CrawlID{CrawlID: "honest"}})
	n := 0
	for ; err == nil; n++ {
		_, err = stream.Recv()
	}
	if err = notEOF(err); err == nil && n < 2 {
		err = errors.New("got no lease")
	}
	return err
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *client) addHTTP(web *http.Client) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		var answer struct{ Verdict, Status string }
		body := fmt.Sprintf("{\"url\":\"http://w%d.example/%d\",\"crawl\":\"adds\"}\n", i%1000, i)
		return c.post(ctx, web, "/v1/urls", body, &answer)
	}
}

func (c *client) leaseHTTP(web *http.Client) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		var answer struct{ Leases []struct{ Key, Token string } }
		if err := c.post(ctx, web, "/v1/lease", `{"crawl":"honest","lease_seconds":3600}`, &answer); err != nil {
			return err
		}
		if len(answer.Leases) != 1 {
			return fmt.Errorf("got %d leases; want 1", len(answer.Leases))
		}
		return nil
	}
}

func (c *client) post(ctx context.Context, web *http.Client, path, body string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+honestToken)
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("got %s: %.200s", resp.Status, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
