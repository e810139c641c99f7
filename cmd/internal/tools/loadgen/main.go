package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// settings are the flags.
type settings struct {
	ours, peer, profiles string
	load                 load
	runs                 int
	queues, peerQueues   int
	newHosts, batch      int
	doors                string
	limit                time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.ours, "ours", "bin/firstseen", "our binary")
	flag.StringVar(&s.peer, "peer", "", "the peer's jar; without it ours runs alone")
	flag.StringVar(&s.profiles, "profiles", "qiita,none", "profiles to run ours with")
	flag.IntVar(&s.load.sends, "sends", 1_000_000, "URLs to send")
	flag.IntVar(&s.load.hosts, "hosts", 10_000, "hosts they are of")
	flag.Float64Var(&s.load.repeats, "repeats", 0.7, "share of sends that repeat an earlier one")
	flag.IntVar(&s.runs, "runs", 1, "times to run everything")
	flag.IntVar(&s.queues, "queues", 1_000_000, "queues of the last phases, nearly all of them empty; 0 to leave them out")
	flag.IntVar(&s.peerQueues, "peer-queues", 100_000, "the same for the peer, for which each costs at every GetURLs")
	flag.IntVar(&s.newHosts, "new-hosts", 0, "instead: offer so many URLs of as many hosts, and beside them of one host")
	flag.StringVar(&s.doors, "doors", "lines,json,grpc", "with --new-hosts: how to offer")
	flag.IntVar(&s.batch, "batch", 1000, "with --new-hosts: URLs of an offer")
	flag.DurationVar(&s.limit, "limit", time.Minute, "longest time of a fetch cycle")
	flag.Parse()
	if err := s.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) error {
	const head = "\n| server | phase | URLs | URLs/s | CPU s a million | client's | call p50/p99 ms | peak MB |\n|---|---|--:|--:|--:|--:|--:|--:|"
	if s.newHosts > 0 {
		fmt.Println(head)
		return s.runNewHosts(ctx)
	}
	urls := s.load.urls()
	fmt.Printf("%d sends of %d hosts, %.0f %% repeats; client and server share this machine\n", s.load.sends, s.load.hosts, 100*s.load.repeats)
	fmt.Println(head)
	for range s.runs {
		for profile := range strings.SplitSeq(s.profiles, ",") {
			err := s.each(ctx, urls, s.queues, func() (*target, error) { return startOurs(ctx, s.ours, profile) })
			if err != nil {
				return err
			}
		}
		if s.peer == "" {
			continue
		}
		if err := s.each(ctx, urls, s.peerQueues, func() (*target, error) { return startPeer(ctx, s.peer) }); err != nil {
			return err
		}
	}
	return nil
}

// each runs the three loads, each on a fresh server.
func (s *settings) each(ctx context.Context, urls [][]byte, queues int, open func() (*target, error)) error {
	for _, phases := range [][]phase{s.single(urls), s.batches(urls), s.manyQueues(queues)} {
		if len(phases) == 0 {
			continue
		}
		t, err := open()
		if err != nil {
			return err
		}
		if err := t.all(ctx, phases); err != nil {
			return err
		}
		fmt.Printf("| %s | disk: %d MB | | | | | | |\n", t.Name, t.DiskMB())
		if err := t.Stop(); err != nil {
			return err
		}
	}
	return nil
}

// single puts one by one, then fetches with one client.
func (s *settings) single(urls [][]byte) []phase {
	return []phase{
		{"PutURLs", func(t *target) (result, error) { return t.putURLs(urls, 1024) }},
		{"PutURLs, all known", func(t *target) (result, error) { return t.putURLs(urls, 1024) }},
		{"cycle, 1 client, 10 queues", func(t *target) (result, error) { return t.cycle(1, 10, 100_000, s.limit) }},
	}
}

// batches puts batches of 100, then fetches with four clients, and counts.
func (s *settings) batches(urls [][]byte) []phase {
	return []phase{
		{"PutDiscovered x100", func(t *target) (result, error) { return t.putDiscovered(urls, 100, 4000) }},
		{"PutDiscovered, all known", func(t *target) (result, error) { return t.putDiscovered(urls, 100, 4000) }},
		{"cycle, 4 clients, 100 queues", func(t *target) (result, error) { return t.cycle(4, 100, 100_000, s.limit) }},
		{"drain in one call", (*target).drain},
		{"CountURLs", func(t *target) (result, error) { return t.ask(200, "CountURLs", nil) }},
		{"GetStats", func(t *target) (result, error) { return t.ask(200, "GetStats", nil) }},
	}
}

// manyQueues asks a frontier of many queues that are mostly empty for work, and
// for its counts.
func (s *settings) manyQueues(n int) []phase {
	if n == 0 {
		return nil
	}
	return []phase{
		{fmt.Sprintf("%d empty queues", n), func(t *target) (result, error) { return t.emptyQueues(n) }},
		{"GetURLs of 10 queues", func(t *target) (result, error) { return t.ask(1000, "GetURLs", encodeParams(10, 10)) }},
		{"CountURLs", func(t *target) (result, error) { return t.ask(200, "CountURLs", nil) }},
		{"GetStats", func(t *target) (result, error) { return t.ask(200, "GetStats", nil) }},
	}
}

type phase struct {
	name string
	run  func(*target) (result, error)
}

func (t *target) all(ctx context.Context, phases []phase) error {
	c, closeConn, err := dial(t.addr)
	if err != nil {
		return err
	}
	defer closeConn()
	if _, err := c.SetDelay(ctx, &pb.QueueDelayParams{}); err != nil {
		return err
	}
	for _, p := range phases {
		r, err := t.measure(ctx, p.name, p.run)
		if err != nil {
			return err
		}
		r.print(t.Name)
	}
	return nil
}

func (r *result) print(name string) {
	perMillion, own, latency := "", "", ""
	if r.urls > 0 {
		perMillion = fmt.Sprintf("%.2f", r.cpu.Seconds()/float64(r.urls)*1e6)
		own = fmt.Sprintf("%.2f", r.own.Seconds()/float64(r.urls)*1e6)
	}
	if n := len(r.latencies); n > 0 {
		slices.Sort(r.latencies)
		latency = fmt.Sprintf("%.1f/%.1f", ms(r.latencies[n/2]), ms(r.latencies[n*99/100]))
	}
	fmt.Printf("| %s | %s | %d | %.0f | %s | %s | %s | %d |\n", name, r.phase, r.urls, float64(r.urls)/r.took.Seconds(), perMillion, own, latency, r.peak)
	if r.failed > 0 {
		fmt.Printf("| %s | %d URLs FAILED | | | | | | |\n", name, r.failed)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
