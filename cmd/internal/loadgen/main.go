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
	runs, queues         int
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
	flag.IntVar(&s.queues, "queues", 100_000, "empty queues of the last phase; 0 to leave it out")
	flag.DurationVar(&s.limit, "limit", time.Minute, "longest time of a fetch cycle")
	flag.Parse()
	if err := s.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) error {
	urls := s.load.urls()
	fmt.Printf("%d sends of %d hosts, %.0f %% repeats; client and server share this machine\n", s.load.sends, s.load.hosts, 100*s.load.repeats)
	fmt.Printf("%-18s %-28s %10s %10s %9s %7s %20s\n", "server", "phase", "URLs", "URLs/s", "CPU s/1M", "client", "GetURLs p50/p99 ms")
	for range s.runs {
		for profile := range strings.SplitSeq(s.profiles, ",") {
			err := s.each(ctx, urls, func() (*target, error) { return startOurs(ctx, s.ours, profile) })
			if err != nil {
				return err
			}
		}
		if s.peer == "" {
			continue
		}
		if err := s.each(ctx, urls, func() (*target, error) { return startPeer(ctx, s.peer) }); err != nil {
			return err
		}
	}
	return nil
}

// each runs the two loads, each on a fresh server.
func (s *settings) each(ctx context.Context, urls [][]byte, open func() (*target, error)) error {
	for _, phases := range []func(context.Context, *target, [][]byte) error{s.single, s.batches} {
		t, err := open()
		if err != nil {
			return err
		}
		if err := phases(ctx, t, urls); err != nil {
			return err
		}
		fmt.Printf("%-18s peak memory %d MB, disk %d MB\n", t.name, t.peakMB(), t.diskMB())
		if err := t.stop(); err != nil {
			return err
		}
	}
	return nil
}

// single puts one by one, then fetches with one client.
func (s *settings) single(ctx context.Context, t *target, urls [][]byte) error {
	return t.all(ctx, []phase{
		{"PutURLs", func() (result, error) { return t.putURLs(urls, 1024) }},
		{"PutURLs, all known", func() (result, error) { return t.putURLs(urls, 1024) }},
		{"cycle, 1 client, 10 queues", func() (result, error) { return t.cycle(1, 10, 100_000, s.limit) }},
	})
}

// batches puts batches of 100, then fetches with four clients, and asks an
// empty frontier.
func (s *settings) batches(ctx context.Context, t *target, urls [][]byte) error {
	list := []phase{
		{"PutDiscovered x100", func() (result, error) { return t.putDiscovered(urls, 100, 4000) }},
		{"PutDiscovered, all known", func() (result, error) { return t.putDiscovered(urls, 100, 4000) }},
		{"cycle, 4 clients, 100 queues", func() (result, error) { return t.cycle(4, 100, 100_000, s.limit) }},
		{"drain in one call", func() (result, error) { return t.drain() }},
	}
	if s.queues > 0 {
		list = append(list,
			phase{fmt.Sprintf("%d empty queues", s.queues), func() (result, error) { return t.emptyQueues(s.queues) }},
			phase{"GetURLs, nothing due", func() (result, error) { return t.gets(200) }})
	}
	return t.all(ctx, list)
}

type phase struct {
	name string
	run  func() (result, error)
}

func (t *target) all(ctx context.Context, phases []phase) error {
	c, closeConn, err := t.dial()
	if err != nil {
		return err
	}
	defer closeConn()
	if _, err := c.SetDelay(ctx, &pb.QueueDelayParams{}); err != nil {
		return err
	}
	for _, p := range phases {
		r, err := t.measure(p.name, p.run)
		if err != nil {
			return err
		}
		r.print(t.name)
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
	fmt.Printf("%-18s %-28s %10d %10.0f %9s %7s %20s\n", name, r.phase, r.urls, float64(r.urls)/r.took.Seconds(), perMillion, own, latency)
	if r.failed > 0 {
		fmt.Printf("%-18s %d URLs FAILED\n", name, r.failed)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
