package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/steer"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// forgetFlags are the flags that select what to forget. Exactly one is set.
type forgetFlags struct {
	crawl, queue, before string
	urls                 []string
	all                  bool
	held                 bool // with before: those that are held, too
	daemon               daemonFlags
}

func newForgetCmd(a *app) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "Make what was seen new again",
		Long: `Forget some URLs of a crawl, or the whole crawl: if a forgotten URL is found again, it counts as
new. If a daemon has the store on disk open, ask it with --daemon. Daemons on a store in Redis can
continue. --before leaves queued and leased URLs as they are; "firstseen purge" forgets them too.`,
		Example: `  firstseen forget --db crawl.db --url https://example.com/a
  firstseen forget --db crawl.db --before 2026-01-31
  firstseen forget --daemon 127.0.0.1:7072 --crawl old --all`,
		Args: noArgs,
	}
	f.complete(a, cmd)
	cmd.Flags().StringArrayVar(&f.urls, "url", nil, "a URL, in any variant; may be given several times")
	cmd.Flags().StringVar(&f.queue, "queue", "", "the URLs of a queue")
	cmd.Flags().BoolVar(&f.all, "all", false, "the whole crawl, with its queues and settings")
	wanting(cmd, oneOf("url", "queue", "before", "all"))
	return cmd
}

func newPurgeCmd(a *app) *cobra.Command {
	f := forgetFlags{held: true}
	cmd := &cobra.Command{
		Use:   "purge (--db DIR | --redis ADDR | --daemon ADDR) --before TIME",
		Short: "Forget old URLs, queued and leased ones too",
		Long: `Forget the URLs that were first seen before a time, whatever their state. Their leases end. With
--queue only those of a queue whose text is kept: queued and leased ones, and completed ones if
the store keeps URLs.`,
		Example: `  firstseen purge --daemon 127.0.0.1:7072 --before 2026-01-31 --queue example.org`,
		Args:    noArgs,
	}
	f.complete(a, cmd)
	cmd.Flags().StringVar(&f.queue, "queue", "", "only the URLs of a queue")
	return cmd
}

// complete makes cmd a command that forgets.
func (f *forgetFlags) complete(a *app, cmd *cobra.Command) {
	withAnyStore(a, cmd, &pebblestore.Options{Mode: pebblestore.OpenExisting}, &f.crawl, func(ctx context.Context, s store.Store, _ []string) error {
		n, err := f.forget(ctx, s)
		return errors.Join(err, a.printForgotten(n, err))
	})
	orDaemon(cmd, &f.daemon, func(ctx context.Context, d *daemonClient, _ []string) error {
		requests, err := f.requests()
		if err != nil {
			return err
		}
		n, err := d.forget(ctx, f.crawl, requests)
		return errors.Join(err, a.printForgotten(n, err))
	})
	cmd.Flags().StringVar(&f.before, "before", "", "URLs first seen before a day, or before a time as 2026-01-31T12:00:00Z")
}

// printForgotten prints the number of URLs, unless it is 0 beside an error.
func (a *app) printForgotten(n int64, err error) error {
	if err != nil && n == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(a.out, "%s forgotten\n", grouped(n)); err != nil {
		return fmt.Errorf("cannot write output: %w", err)
	}
	return nil
}

// requests returns what to ask a daemon for, in each crawl.
func (f *forgetFlags) requests() (requests []wire.ForgetRequest, err error) {
	r := wire.ForgetRequest{Queue: f.queue, All: f.all, Held: f.held}
	if f.before != "" || f.held {
		if r.Before, err = parseDay(f.before); err != nil {
			return nil, misuse{err}
		}
	}
	const atOnce = 64 // of the longest URLs, escaped, fit a request
	for some := range slices.Chunk(f.urls, atOnce) {
		var r wire.ForgetRequest
		for _, u := range some {
			r.URLs = append(r.URLs, wire.ForgetURL{URL: u, URLBytes: wire.BytesOf(u)})
		}
		requests = append(requests, r)
	}
	if len(f.urls) == 0 {
		requests = append(requests, r)
	}
	return requests, nil
}

// forget has a daemon forget something in the crawls that a flag names.
func (d *daemonClient) forget(ctx context.Context, crawl string, requests []wire.ForgetRequest) (n int64, err error) {
	crawls, err := d.crawls(ctx, crawl)
	if err != nil {
		return 0, err
	}
	for _, crawl := range crawls {
		for _, r := range requests {
			r.Crawl = crawl
			var answer wire.Forgotten
			if err := d.post(ctx, "/v1/forget", r, &answer); err != nil {
				return n, err
			}
			n += answer.Forgotten
		}
	}
	return n, nil
}

func (f *forgetFlags) forget(ctx context.Context, s store.Store) (n int64, err error) {
	crawls, err := crawlsIn(ctx, s, f.crawl)
	if err != nil {
		return 0, err
	}
	sel := store.Selection{Queue: f.queue}
	if f.before != "" || f.held {
		if sel.Before, err = parseDay(f.before); err != nil {
			return 0, misuse{err}
		}
	}
	forget := func(c frontier.StoredCrawl) (int64, error) {
		sel.Crawl = c.Stored
		return s.Forget(ctx, sel)
	}
	if len(f.urls) > 0 || f.held {
		front, err := openOver(s)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, front.Close()) }() // the store is the caller's
		forget = func(c frontier.StoredCrawl) (int64, error) {
			if f.held {
				return steer.Forget(ctx, front, c.Name, &wire.ForgetRequest{Queue: f.queue, Before: sel.Before, Held: true})
			}
			return f.forgetURLs(ctx, front, c)
		}
	}
	for _, c := range crawls {
		some, err := forget(c)
		n += some
		if err != nil {
			return n, fmt.Errorf("cannot forget in crawl %q: %w", c.Name, err)
		}
	}
	return n, nil
}

// openOver opens a frontier that makes keys as a store's were made.
func openOver(s store.Store) (*frontier.Frontier, error) {
	p, err := canon.ParseRecorded(s.Identity().Profile)
	if err != nil {
		return nil, fmt.Errorf("cannot make the keys of the store: %w", err)
	}
	return frontier.New(s, frontier.Options{Profile: p})
}

func (f *forgetFlags) forgetURLs(ctx context.Context, front *frontier.Frontier, c frontier.StoredCrawl) (int64, error) {
	urls := make([]frontier.Link, len(f.urls))
	for i, u := range f.urls {
		urls[i] = frontier.Link{URL: u, Crawl: c.Name}
		if e, err := front.Lookup(ctx, urls[i]); e.Reason != "" {
			return 0, misuse{err}
		}
	}
	return front.Forget(ctx, frontier.Selection{Crawl: c.Name, URLs: urls})
}

// parseDay reads a day, in UTC, or a time.
func parseDay(s string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if s == "" {
		return time.Time{}, errors.New("got no --before; want a day as 2026-01-31, or a time as 2026-01-31T12:00:00Z")
	}
	return time.Time{}, fmt.Errorf("cannot read time; got %q; want a day as 2026-01-31, or a time as 2026-01-31T12:00:00Z", s)
}

func newVerifyCmd(a *app) *cobra.Command {
	var crawl string
	cmd := &cobra.Command{
		Use:   "verify --db DIR",
		Short: "Check a store for damage, row by row",
		Long: `Read the whole store and check it: checksums, the form of every row, every count, the
in-memory index and the queues, and the fetches that serve kept to judge the rules by. Each
finding names the error and its consequence. If the counts differ from the rows, --repair opens
the store and corrects the counts by the rows. If the log is damaged before its end, --repair cuts
it there: what was recorded later is lost. Restore a backup instead if you have one.

A backup is a store as well: "firstseen verify --db BACKUP" reads all of it, and changes nothing.

This is for stores on disk. For a store in Redis, "firstseen copy --from-redis" to a file reads
every row; there is no other check.`,
		Args: noArgs,
	}
	var repair bool
	opt := &pebblestore.Options{Mode: pebblestore.OpenReadOnly}
	withStore(cmd, opt, &crawl, func(ctx context.Context, s *pebblestore.Store, _ []string) error {
		return errors.Join(verify(ctx, a, s), verifyCaptures(a, cmd.Flag("db").Value.String()))
	})
	cmd.PreRun = func(*cobra.Command, []string) {
		if repair {
			opt.Mode = pebblestore.OpenRepair
		}
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "correct the counts if they differ from the rows, and cut a damaged log before the damage")
	_ = cmd.Flags().MarkHidden("crawl") // the whole store is read
	return cmd
}

func verify(ctx context.Context, a *app, s *pebblestore.Store) error {
	report, err := s.Verify(ctx)
	if report != nil {
		out := newOutput(a.out)
		out.line(fmt.Sprintf("%s rows read, %s keys", grouped(report.Rows), grouped(report.Keys)))
		for _, text := range report.Repaired {
			out.line("repaired: " + text)
		}
		for _, f := range report.Findings {
			out.line(fmt.Sprintf("row %x: %s", f.Row, f.Text))
		}
		if report.More > 0 {
			out.line(fmt.Sprintf("and %d more", report.More))
		}
		err = errors.Join(err, out.Flush())
		if err == nil && len(report.Findings) > 0 {
			err = fmt.Errorf("the store is damaged: %d findings", int64(len(report.Findings))+report.More)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot verify: %w", err)
	}
	return nil
}
