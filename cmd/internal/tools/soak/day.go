//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/measured"
	"github.com/firstseen/firstseen/internal/async"
)

// A day is a crawl of a web without end, in the steady state of a large crawl. "soak day" fills a store with known and
// queued URLs, lets fetchers crawl on from there, kills and restarts each of them in turn, as a deploy does, and kills the
// daemon in the middle. Fetchers offer links by PutDiscovered, the cheapest way for both sides, and lease and settle over
// HTTP. The day reports rates, latencies and processor time; the daemon and each fetcher are processes of their own, so that
// theirs can be told apart. The journals are those of a soak, with how long each call took, and judged alike.
type day struct {
	web      dayWeb
	fetchers int
	rate     int // pages a second, of all fetchers
	length   time.Duration
	warm     time.Duration
	dir      string
	binary   string
	text     bool // offers by HTTP
}

func runDay(ctx context.Context, args []string) (ok bool, err error) {
	d := day{}
	fs := flag.NewFlagSet("day", flag.ContinueOnError)
	fs.IntVar(&d.web.known, "known", 2_000_000, "URLs that are known at the beginning")
	fs.IntVar(&d.web.queued, "queued", 500_000, "URLs that are queued at the beginning")
	fs.IntVar(&d.web.hosts, "hosts", 100_000, "hosts")
	fs.IntVar(&d.fetchers, "fetchers", 2, "processes that fetch")
	fs.IntVar(&d.rate, "rate", 0, "pages a second; default: as many as there are")
	fs.DurationVar(&d.length, "length", time.Minute, "how long to measure")
	fs.DurationVar(&d.warm, "warm", 20*time.Second, "how long to crawl before")
	fs.StringVar(&d.dir, "dir", "", "where to work; default: a temporary directory, removed at the end")
	fs.StringVar(&d.binary, "binary", "bin/firstseen", "the program")
	fs.BoolVar(&d.text, "text", false, "offer over HTTP, in lines of text; default: over gRPC, by PutDiscovered")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "day-"); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	}
	return d.run(ctx, os.Stdout)
}

// run makes the store, crawls, and reports.
func (d *day) run(ctx context.Context, out io.Writer) (bool, error) {
	began := time.Now()
	if err := d.seedKnown(ctx); err != nil {
		return false, err
	}
	s, err := measured.Start(ctx, measured.Spec{Name: "firstseen", Ports: 2, Ready: func(ctx context.Context, s *measured.Server) error {
		return ready(ctx, newAPI(s.Addrs[0]))
	}, Command: func(_ string, addrs []string) ([]string, error) {
		return []string{d.binary, "serve", "--db", d.db(), "--http", addrs[0], "--grpc", addrs[1], "--delay", dayDelay.String(), "--log-level", "warn"}, nil
	}})
	if err != nil {
		return false, err
	}
	defer func() { _ = s.Stop() }() // what it would say was seen in its answers
	if err := d.seedQueued(ctx, newAPI(s.Addrs[0])); err != nil {
		return false, err
	}
	s.Rest(ctx)
	fmt.Fprintf(out, "%d known and %d queued URLs of %d hosts, made in %v.\n", d.web.known, d.web.queued, d.web.hosts, time.Since(began).Round(time.Second))
	r := newDayReport(d, s)
	if err := r.crawl(ctx); err != nil {
		return false, err
	}
	return r.print(ctx, out)
}

func (d *day) db() string { return filepath.Join(d.dir, "db") }

// ready waits until the daemon serves.
func ready(ctx context.Context, a *api) error {
	for {
		if _, err := a.send(ctx, "GET", "/readyz", nil); err == nil {
			return nil
		}
		if err := async.Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("cannot use the daemon: %w", err)
		}
	}
}

// seedKnown gives the store its known URLs, as a list that was seen before.
func (d *day) seedKnown(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, d.binary, "uniq", "--db", d.db())
	list, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot make the store: %w", err)
	}
	err = d.web.writeURLs(list, 0, d.web.known)
	if err := errors.Join(err, list.Close(), cmd.Wait()); err != nil {
		return fmt.Errorf("cannot make the store: %w", err)
	}
	return nil
}

// seedQueued offers the URLs from which the crawl goes on.
func (d *day) seedQueued(ctx context.Context, a *api) error {
	for from := d.web.known; from < d.web.known+d.web.queued; from += 5000 {
		var urls []offered
		for page := from; page < min(from+5000, d.web.known+d.web.queued); page++ {
			urls = append(urls, offered{URL: d.web.url(page), ID: strconv.Itoa(page)})
		}
		if _, err := a.offer(ctx, urls); err != nil {
			return fmt.Errorf("cannot queue URLs: %w", err)
		}
	}
	return nil
}

// crawl runs the fetchers: first to warm up, then for the time that counts. Every ninth part of it a fetcher is killed
// and started again; in the middle the daemon is.
func (r *dayReport) crawl(ctx context.Context) error {
	fetchers := make([]*exec.Cmd, r.day.fetchers)
	lives := 0
	start := func(i int) (err error) {
		lives++
		fetchers[i], err = r.day.startFetcher(ctx, r.server.Addrs, i, lives)
		return err
	}
	end := func(i int) {
		_ = fetchers[i].Process.Kill() // it may have ended: then its journal is short, and the report says so
		_ = fetchers[i].Wait()
		p := fetchers[i].ProcessState
		r.fetcherCPU += p.UserTime() + p.SystemTime()
	}
	for i := range fetchers {
		if err := start(i); err != nil {
			return err
		}
	}
	if err := async.Sleep(ctx, r.day.warm); err != nil {
		return err
	}
	r.from, r.cpu = time.Now(), -r.server.CPU()
	for part := range 9 {
		if err := async.Sleep(ctx, r.day.length/9); err != nil {
			return err
		}
		if i := part % len(fetchers); part < 8 {
			end(i)
			if err := start(i); err != nil {
				return err
			}
		}
		if part == 4 {
			killed := time.Now()
			if err := r.server.Again(ctx); err != nil {
				return err
			}
			r.down = time.Since(killed)
			r.killed = killed
		}
	}
	r.to = time.Now()
	r.cpu += r.server.CPU()
	for i := range fetchers {
		end(i)
	}
	return nil
}

// startFetcher starts this program as a fetcher.
func (d *day) startFetcher(ctx context.Context, addrs []string, i, life int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "dayfetch", "-addr", addrs[0], "-journal", filepath.Join(d.dir, fmt.Sprintf("fetch%d-%d.journal", i, life)),
		"-seed", strconv.Itoa(life), "-rate", strconv.Itoa(d.rate/d.fetchers),
		"-known", strconv.Itoa(d.web.known), "-queued", strconv.Itoa(d.web.queued), "-hosts", strconv.Itoa(d.web.hosts))
	if !d.text {
		cmd.Args = append(cmd.Args, "-grpc", addrs[1])
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a fetcher: %w", err)
	}
	return cmd, nil
}
